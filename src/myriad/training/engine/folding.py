"""Folding the scale of stored weights into them, before float32 suffers.

Weights are a scale times the stored ones, so that a decay is one multiplication. Their sum over a
window of steps is ``scales V - Q``, where `scales` is the sum of the scales and `Q` has got every
change of the stored weights times the scales before it. Once the scale has become small, that is a
small difference of large numbers: so folding also takes the sum up to now into `Q`.
"""

from __future__ import annotations

from myriad._jit import inlined, jit

FOLD_BELOW = 1e-6
AVERAGED_BELOW = 1e-2
"""Where averages are kept: digits of their sum are lost in proportion to the scale."""


@inlined
def is_small(sigma, Q):
    """Tell whether a scale is to be folded; `Q` is empty where no averages are kept."""
    return abs(sigma) < (AVERAGED_BELOW if Q.size > 0 else FOLD_BELOW)


@jit
def fold_weights(sigma, scales, V, Q):
    """Multiply stored weights by their scale; `scales` is then to begin at 0 again.

    Parameters
    ----------
    sigma, scales : the scale, and the sum of the scales before.
    V, Q : stored weights, of any shape, and what averages follow from, shaped alike, or empty;
        changed.
    """
    stored, sums = V.reshape(-1), Q.reshape(-1)
    before, after = V.dtype.type(scales), V.dtype.type(sigma)
    for j in range(len(sums)):
        sums[j] -= before * stored[j]
    for j in range(len(stored)):
        stored[j] *= after
