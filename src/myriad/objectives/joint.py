"""The objectives over all classes of a row: the pair of classes that a step changes."""

from __future__ import annotations

from myriad._jit import inlined
from myriad.objectives import JOINT_OBJECTIVES, multiclass, ranking, warp
from myriad.objectives.draws import draw_label

MULTICLASS, RANKING, WARP, AUC, SOFTMAX = (
    JOINT_OBJECTIVES[name] for name in ("multiclass", "ranking", "warp", "auc", "softmax")
)


@inlined
def pick_pair(setting, products, V, x, biases, sigma, labels, key, last_violators, harmonic):
    """Return the label whose score a step raises, the class whose score it lowers, and its weight.

    The class is -1 where no step is made [GP, Table 1]. Softmax, whose steps change all classes,
    has kernels of its own.

    Parameters
    ----------
    setting : record with the number of the `objective` and the options of `warp`.
    products : float array of shape (n_classes,), the products of the row with all stored weights,
        or empty: then products are computed from `V` and `x` as they are needed.
    biases, sigma : the scores are ``sigma * products + biases``.
    labels : int32 array, the labels of the row, ascending; at least one.
    key : of the row's random draws.
    last_violators, harmonic : see `objectives.warp`.
    """
    label = draw_label(key, labels)
    if setting.objective == MULTICLASS:
        return label, multiclass.pick(products, biases, sigma, label), 1.0
    # The loss of auc [HM, 5.1] is that of ranking on one random label and one random wrong class:
    # a row of several labels is one sample of its pairs.
    if setting.objective == RANKING or setting.objective == AUC:
        return label, ranking.pick(products, V, x, biases, sigma, label, labels, key), 1.0
    c, weight = warp.pick(
        products, V, x, biases, sigma, labels, key, setting.warp, last_violators, harmonic
    )
    return label, c, weight
