"""Functions shared by all SGD kernels: the learning rate, and the lazy scale of stored weights.

Decay multiplies all weights of a class at every step. Kernels store V and a scale sigma instead,
with the weights ``W = sigma V``: a decay is then one multiplication, and a step of the weights by
``a x`` is a step of V by ``a x / sigma``. Once sigma is small it is folded: V takes it in and sigma
is 1 again, before float32 loses digits.

Averages over the steps of a window need no sum over all weights either. The sum of the weights
after each step is ``sigma_sum V - Q``, where `sigma_sum` adds up the scales and Q adds up every
change of V times the `sigma_sum` before it. Once the scale is small, that is a small difference of
large numbers: so folding also moves the sum so far into Q.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from myriad._jit import inlined, jit
from myriad.training.optimiser import BY_LAM, DECAYING


@inlined
def learning_rate(schedule, eta, lam, t, t0):
    """Return the learning rate of step number `t`, from 0, by the schedules of `optimiser`."""
    if schedule == BY_LAM:
        return 1.0 / (lam * (t + t0))
    if schedule == DECAYING:
        return eta * t0 / (t + t0)
    return eta


FOLD_BELOW = 1e-6
AVERAGED_BELOW = 1e-2
"""The same where averages are kept: digits of their sum are lost in proportion to the scale."""


class StoredWeights(NamedTuple):
    """The stored weights of some classes as kernels take them, and change them in place.

    Attributes
    ----------
    V : float array of shape (n_classes, n_features); the weights are ``sigma V``.
    Q : float array shaped like V where averages are kept, else empty; see above.
    """

    V: Any
    Q: Any


@inlined
def is_small(sigma, Q):
    """Return whether a scale is to be folded; `Q` is empty where no averages are kept."""
    return abs(sigma) < (AVERAGED_BELOW if Q.size > 0 else FOLD_BELOW)


@jit
def fold_weights(sigma, sigma_sum, V, Q):
    """Multiply stored weights by their scale; the caller sets sigma to 1 and `sigma_sum` to 0.

    Parameters
    ----------
    sigma, sigma_sum : the scale, and the sum of the scales before.
    V, Q : float arrays of any shape, stored weights and what averages follow from, shaped alike, or
        empty; changed in place.
    """
    stored, sums = V.reshape(-1), Q.reshape(-1)
    before, after = V.dtype.type(sigma_sum), V.dtype.type(sigma)
    # The sum so far is sigma_sum V - Q; with sigma_sum = 0 it is -Q, so Q loses sigma_sum V.
    for j in range(len(sums)):
        sums[j] -= before * stored[j]
    for j in range(len(stored)):
        stored[j] *= after
