"""Selected features: the most informative ones kept as plain float32 [CC, section 3.3].

Leaving out features that are noise may raise accuracy, whatever is done with the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float, Ints, as_rows
from myriad.codes.onnx_nodes import Graph, add_selection
from myriad.codes.selected import SelectedCode, choose_features
from myriad.errors import InputError


@dataclass(frozen=True, eq=False)
class ChosenCode(SelectedCode, kind="features"):
    """Some features, unchanged.

    Parameters
    ----------
    chosen : int32 (decoded_dim,), the features, the most informative first.
    dim : number of features of a row.
    information : float32 (dim,), mutual information of each feature of a row with the class in
        bits, or None where that was not measured.
    """

    chosen: Ints
    dim: int
    information: Float | None = None

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes of a coded row."""
        return 4 * self.decoded_dim

    def add_onnx(self, graph: Graph, rows: str) -> str:
        """Add the selection of the features."""
        return add_selection(graph, rows, self.chosen)

    def _encode(self, rows: Float, codes: Bytes) -> None:
        np.take(rows, self.chosen, axis=1, out=codes.view(np.float32), mode="clip")

    def _decode(self, codes: Bytes, out: Float) -> None:
        out[:] = codes.view(np.float32)
        with np.errstate(invalid="ignore"):
            total = out.sum(dtype=np.float64)
        if not np.isfinite(total):
            raise InputError("The codes of chosen features hold NaN or infinite values.")


def learn_chosen(
    sample: Float,
    *,
    count: int | None = None,
    information: NDArray[np.float64] | None = None,
) -> ChosenCode:
    """Return the code of the `count` most informative features, or of all in their own order.

    See `learn_bits`; only the number of features of the sample matters.
    """
    dim = as_rows(sample, name="The sample for chosen features").shape[1]
    if dim == 0:
        raise InputError("Chosen features need rows of at least one feature.")
    chosen, kept = choose_features(dim, count, information)
    return ChosenCode(chosen, dim, kept)
