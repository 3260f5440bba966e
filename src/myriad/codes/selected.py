"""The base class of codes that keep selected features, and the selection by information."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.codes.code import Code, Selection
from myriad.codes.information import rank_features
from myriad.errors import InputError
from myriad.serialisation import check_array, check_count


class SelectedCode(Code):
    """A code of selected features; the base class.

    Attributes
    ----------
    chosen : int32 (decoded_dim,), the features, the most informative first.
    dim : number of features of a row.
    information : float32 (dim,), mutual information of each feature of a row with the class in
        bits, or None where that was not measured.
    """

    chosen: Ints
    dim: int
    information: Float | None

    def __post_init__(self) -> None:
        name = f"of a code of kind {self.kind}"
        check_count(self.dim, f"The number of features {name}")
        check_array(self.chosen, f"The features {name}", (None,), dtype=np.int32)
        if self.chosen.min() < 0 or self.chosen.max() >= self.dim:
            raise InputError(f"The features {name} must lie between 0 and {self.dim - 1}.")
        if len(np.unique(self.chosen)) < len(self.chosen):
            raise InputError(f"The features {name} name one twice.")
        if self.information is not None:
            check_array(self.information, f"The information {name}", (self.dim,))

    @property
    def decoded_dim(self) -> int:
        """Number of features kept."""
        return len(self.chosen)

    @property
    def restores(self) -> bool:
        """A decoded row has other features than a plain one, in another order."""
        return False

    @property
    def selection(self) -> Selection | None:
        """The features that are kept."""
        return None if self.information is None else Selection(self.chosen, self.information)

    def describe(self) -> dict[str, Any]:
        """Return the kind and the number of features."""
        return {"kind": self.kind, "features": self.decoded_dim}

    def project(self, rows: Float) -> Float:
        """Return the selected features of plain rows."""
        return rows[:, self.chosen]

    def expand(self, decoded: Float) -> Float:
        """Return rows with the decoded values at their features, 0 for those not selected."""
        rows = np.zeros((len(decoded), self.dim), np.float32)
        rows[:, self.chosen] = decoded
        return rows


def choose_features(
    dim: int, count: int | None, information: NDArray[np.float64] | None
) -> tuple[Ints, Float | None]:
    """Return `count` features (None: all), the most informative first, and all information."""
    if count is not None and not 1 <= count <= dim:
        raise InputError(f"The number of features to keep must lie between 1 and {dim}.")
    if information is None:
        if count not in (None, dim):
            raise InputError(
                "Choosing features needs their mutual information: give labels, or keep all."
            )
        return np.arange(dim, dtype=np.int32), None
    if information.shape != (dim,):
        raise InputError(
            f"{len(information)} values of mutual information do not fit {dim} features."
        )
    return rank_features(information)[:count], information.astype(np.float32)
