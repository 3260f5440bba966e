"""HTML reports: each is a single file that needs no network."""

from myriad.report.page import write_report
from myriad.report.store_page import write_store_report

__all__ = ["write_report", "write_store_report"]
