"""One loss a file: its value and the coefficient of its step."""

from myriad.objectives.binary import BINARY_LOSSES, binary_step, binary_value

__all__ = ["BINARY_LOSSES", "binary_step", "binary_value"]
