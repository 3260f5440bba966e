"""Learning the code that a user asks for, from rows and what they say about the class."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import Code, CodeOptions, Source
from myriad.parallel import LearningContext
from myriad.store import Rows, inform_rows


def learn_code(
    source: Source, options: CodeOptions, context: LearningContext | None = None
) -> Code:
    """Learn the code that meets the options; it depends on the seed alone, not on the workers."""
    return options.spec.learn(source, options, context or LearningContext())


def inform(
    rows: Rows, sample: Float, options: CodeOptions, context: LearningContext
) -> NDArray[np.float64] | None:
    """Return the mutual information of each feature with the class; None if the code uses none.

    Parameters
    ----------
    rows, sample : the training rows, and those of them that the code will be learned from.
    context : its seed is that of the code, since the information is that of the features which
        the code rotates rows to.
    """
    spec = options.spec
    if not spec.uses_information:
        return None
    if not spec.needs_labels and not (rows.labels >= 0).any():
        return None
    return inform_rows(
        rows,
        bins=spec.bins(options),
        rotation=spec.rotate(sample, context.seed),
        threads=context.threads,
        workers=context.workers,
        progress=context.progress,
    )


def measure_error(code: Code, blocks: Iterable[Float]) -> float:
    """Return the squared error of coded rows divided by the squared norm of plain ones."""
    error = norm = 0.0
    for X in blocks:
        lost = code.expand(code.decode(code.encode(X))) - X
        error += float(np.einsum("ij,ij->", lost, lost, dtype=np.float64))
        norm += float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    return error / norm if norm else 0.0
