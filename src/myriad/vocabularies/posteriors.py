"""Softmax in place: the kernel between the two matrix products of EM and Fisher vectors."""

from __future__ import annotations

import math

import numpy as np

from myriad._jit import inlined, jit_reassociated
from myriad.arrays import Float

CUT = 1e-6
"""Posteriors below this fraction of the largest are set to zero."""

_LOG_CUT = np.float32(math.log(CUT))
_SIXTEENTH = np.float32(1 / 16)

# A polynomial for exp(t) on [log(CUT) / 16, 0], fitted for the least relative error (1e-8).
_E0, _E1, _E2 = np.float32(1.0), np.float32(0.999999387), np.float32(0.499987106)
_E3, _E4 = np.float32(0.166574261), np.float32(0.0413558702)
_E5, _E6 = np.float32(0.00779139672), np.float32(0.00090204357)


@inlined
def short_exp(x: np.float32) -> np.float32:
    """Return exp(x) for x in [log(CUT), 0] to a relative error of 4e-6, without branches.

    It is the 16th power of exp(x / 16), so that a loop over it is vectorised, which a call of the
    library's function would prevent.
    """
    t = x * _SIXTEENTH
    root = _E0 + t * (_E1 + t * (_E2 + t * (_E3 + t * (_E4 + t * (_E5 + t * _E6)))))
    root *= root
    root *= root
    root *= root
    return root * root


@jit_reassociated
def soften(logits: Float, tops: Float) -> float:
    """Replace logits by posteriors, row by row.

    Parameters
    ----------
    logits : float32 array of shape (n, n_components), log of weight times density; changed to the
        posteriors, which sum to 1 in each row; those below CUT times the largest are zero.
    tops : float32 array of shape (n,), the largest logit of each row.

    Returns
    -------
    evidence : the sum over all rows of the log density under the mixture.
    """
    evidence = 0.0
    for i in range(logits.shape[0]):
        row = logits[i]
        top = tops[i]
        total = np.float32(0.0)
        for k in range(row.size):
            x = row[k] - top
            below = x < _LOG_CUT
            q = short_exp(_LOG_CUT if below else x)
            q = np.float32(0.0) if below else q
            row[k] = q
            total += q
        evidence += np.float64(top) + math.log(np.float64(total))
        scale = np.float32(1.0) / total
        for k in range(row.size):
            row[k] *= scale
    return evidence
