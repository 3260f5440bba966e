"""One loss a file: its value, or what its step looks at and pushes.

The tables give the number by which a kernel knows each loss, because a function passed to a kernel
would miss the disk cache. They are here, where nothing heavy is imported, so that the help of the
command can list their names.
"""

from typing import TYPE_CHECKING

from myriad.lazy import import_on_use

if TYPE_CHECKING:
    from myriad.objectives.binary import binary_step, binary_value
    from myriad.objectives.joint import pick_pair

BINARY_LOSSES = {"hinge": 0, "logistic": 1, "squared": 2}
"""Losses of one class against the rest by SGD: a new one is a line here and in `binary`."""

JOINT_OBJECTIVES = {"multiclass": 0, "ranking": 1, "warp": 2, "auc": 3, "softmax": 4}
"""Objectives of all classes together by SGD: a new one is a line here and in `joint`."""

TOPK_VARIANTS = {"alpha": 0, "beta": 1}
"""The two top-k hinge losses of [TK]."""

DUAL_LOSSES = {"hinge": False, "squared_hinge": True}
"""Losses of one class against the rest in the dual, and whether the loss is squared."""

__all__ = [
    "BINARY_LOSSES",
    "DUAL_LOSSES",
    "JOINT_OBJECTIVES",
    "TOPK_VARIANTS",
    "binary_step",
    "binary_value",
    "pick_pair",
]

__getattr__ = import_on_use(
    __name__,
    {
        "binary_step": "myriad.objectives.binary",
        "binary_value": "myriad.objectives.binary",
        "pick_pair": "myriad.objectives.joint",
    },
)
