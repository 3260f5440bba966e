"""The report one shows to a colleague: a single HTML file that needs no network."""

from myriad.report.page import write_report

__all__ = ["write_report"]
