"""The losses that SGD minimises.

This module is the registry: names and the numbers by which kernels know them, because a function
handed to a Numba kernel would miss its disk cache. It imports no kernel, so that reading the names
(for a help text, say) is cheap.

**To add a binary loss** for one-vs-rest training, such as a Huber loss:

1. write ``objectives/huber.py`` with two kernels (`myriad._jit.inlined`): ``value(sign, score)``,
   the loss, and ``step(sign, score)``, minus its derivative with respect to the score; `logistic`
   is the example to start from;
2. add ``"huber": 4`` to `BINARY_LOSSES` below. The file is found by the name.

``tests/objectives/test_binary.py`` then checks the derivative of the new loss, and the option
``--loss`` of the command and of `LinearSGD` accepts it.

**To add a dual loss** for one-vs-rest support vector machines: write a file with the functions
``value(sign, score)`` and ``dual_bounds(weights, lam)`` (`squared_hinge` is the example, `binary`
has the theory), and add its name to `DUAL_LOSSES`. `DualSVM` then accepts it as `loss`.

**To train a smooth loss in the primal**, by coordinate descent: its file has the kernels ``value``,
``step`` and ``curvature(sign, score)``, its second derivative, and the constant ``CURVATURE``, the
largest value of that. Add its name to `SMOOTH_LOSSES`.

A **joint objective** (over all classes of a row) that looks at one wrong class per step needs a
kernel that picks that class, a line in `JOINT_OBJECTIVES` and a branch of `joint.pick_pair`.
"""

from typing import NamedTuple

BINARY_LOSSES = {"hinge": 0, "logistic": 1, "squared": 2, "perceptron": 3}
"""Losses of one class against the rest: each name is also that of its file."""

DUAL_LOSSES = {"hinge": 0, "squared_hinge": 1}
"""Losses of one class against the rest that are trained in the dual; named as their files."""

SMOOTH_LOSSES = {"squared_hinge": 0, "logistic": 1}
"""Losses of one class against the rest that have a second derivative; named as their files."""

JOINT_OBJECTIVES = {"multiclass": 0, "ranking": 1, "warp": 2, "auc": 3, "softmax": 4}
"""Objectives over all classes of a row."""

TOPK_VARIANTS = {"alpha": 0, "beta": 1, "entropy": 2}
"""The two top-k hinge losses of [TK], and the top-k entropy loss of Lapin et al. 2016."""


class Discriminant(NamedTuple):
    """How an embedding scores a class; see `models.EmbeddingModel`.

    Attributes
    ----------
    scale : factor of the product of a row and a prototype in the score.
    description : which class is the best, for the help of the command.
    """

    scale: float
    description: str


DISCRIMINANTS = {
    "euclidean": Discriminant(2.0, "nearest prototype"),
    "linear": Discriminant(1.0, "largest product"),
}
"""The discriminants of embeddings by name."""

__all__ = [
    "BINARY_LOSSES",
    "DISCRIMINANTS",
    "DUAL_LOSSES",
    "JOINT_OBJECTIVES",
    "SMOOTH_LOSSES",
    "TOPK_VARIANTS",
]
