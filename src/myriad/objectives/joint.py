"""The objectives that treat all classes jointly, by number: what a kernel can choose from."""

from __future__ import annotations

from myriad._jit import inlined
from myriad.objectives import multiclass, ranking, warp

MULTICLASS, RANKING, WARP, SOFTMAX = 0, 1, 2, 3

JOINT_OBJECTIVES = {
    "multiclass": MULTICLASS,
    "ranking": RANKING,
    "warp": WARP,
    "softmax": SOFTMAX,
}


@inlined
def pick_pair(setting, products, V, x, biases, sigma, label, key, last, harmonic):
    """Return the wrong class that a row's step pushes down and the weight of the step.

    The class is -1 where no step is made. What is pushed up is the row's label. `products` are
    those of the row with all classes, or empty: then products are made with `V` as needed.
    `setting` is a record with the number of the `objective` and the options of `warp`.
    """
    if setting.objective == MULTICLASS:
        return multiclass.pick(products, biases, sigma, label), 1.0
    if setting.objective == RANKING:
        return ranking.pick(products, V, x, biases, sigma, label, key), 1.0
    return warp.pick(products, V, x, biases, sigma, label, key, setting.warp, last, harmonic)
