"""One loss a file: its value, or what its step looks at and pushes."""

from myriad.objectives.binary import BINARY_LOSSES, binary_step, binary_value
from myriad.objectives.joint import JOINT_OBJECTIVES, pick_pair

__all__ = ["BINARY_LOSSES", "JOINT_OBJECTIVES", "binary_step", "binary_value", "pick_pair"]
