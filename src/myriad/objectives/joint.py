"""The objectives that treat all classes jointly, by number: what a kernel can choose from."""

from __future__ import annotations

from myriad._jit import inlined
from myriad.objectives import JOINT_OBJECTIVES, auc, multiclass, ranking, warp
from myriad.objectives.draws import draw_label

MULTICLASS, RANKING, WARP, AUC, SOFTMAX = (
    JOINT_OBJECTIVES[name] for name in ("multiclass", "ranking", "warp", "auc", "softmax")
)


@inlined
def pick_pair(setting, products, V, x, biases, sigma, labels, key, last, harmonic):
    """Return the label that a row's step pushes up, the class it pushes down, and its weight.

    The class is -1 where no step is made. `products` are those of the row with all classes, or
    empty: then products are made with `V` as needed. `labels` rise; there is at least one.
    `setting` is a record with the number of the `objective` and the options of `warp`.
    """
    label = draw_label(key, labels)
    if setting.objective == MULTICLASS:
        return label, multiclass.pick(products, biases, sigma, label), 1.0
    if setting.objective == RANKING:
        return label, ranking.pick(products, V, x, biases, sigma, label, labels, key), 1.0
    if setting.objective == AUC:
        return label, auc.pick(products, V, x, biases, sigma, label, labels, key), 1.0
    c, weight = warp.pick(products, V, x, biases, sigma, labels, key, setting.warp, last, harmonic)
    return label, c, weight
