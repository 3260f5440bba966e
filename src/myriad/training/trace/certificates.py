"""How far a point is from the optimum at most, told by the full gradient.

For ``J(W) = lam Omega(W) + R(W)`` and any W, with ``polar`` the gauge's polar of ``-grad R``:

- ``lam Omega + <grad R, W> + max(0, polar - lam) J / lam``, since R is convex and
  ``lam Omega(W*) <= J(W)``;
- the duality gap at the probabilities ``q = s p + (1 - s) [c = y]`` with ``s = lam / polar``, whose
  residuals are those of W times s and therefore feasible:
  ``lam Omega + s <grad R, W> + sum_i w_i KL(q_i | p_i)``. The last term is small of second order.
"""

from __future__ import annotations

import numpy as np

from myriad.training.trace.latents import Real


def bound_suboptimality(
    losses: Real, weights: Real, *, lam: float, gauge: float, inner: float, polar: float
) -> float:
    """Return the smaller of both bounds on ``J(W) - J(W*)``, at least 0.

    Parameters
    ----------
    losses : ``-log p_y`` of each row, float64 (n_samples,)
    weights : of the rows, adding up to 1.
    gauge : ``Omega(W)``.
    inner : ``<grad R, W>``.
    polar : the gauge's polar of ``-grad R``.
    """
    value = lam * gauge + float(losses @ weights)
    plain = lam * gauge + inner + max(0.0, polar - lam) * value / lam
    s = min(1.0, lam / polar) if polar > 0 else 1.0
    p = np.exp(-losses)
    own = s * p + (1.0 - s)
    divergence = own * (np.log(own) + losses) + s * (1.0 - p) * np.log(s)
    dual = lam * gauge + s * inner + float(divergence @ weights)
    return float(max(0.0, min(plain, dual)))
