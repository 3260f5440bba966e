"""The base class of the entries of the registry of codes, and what a code is learned from.

This module imports nothing heavy: the help of the command is built from the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from myriad.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from myriad.arrays import Float, Ints
    from myriad.codes.code import Code
    from myriad.codes.registry import CodeOptions
    from myriad.parallel import LearningContext

RATIO = 32.0
"""How many times smaller rows become unless the user says otherwise."""


class RowMap(Protocol):
    """A map of rows, applied before the information of their features is measured.

    Attributes
    ----------
    width : number of features of a mapped row.
    """

    @property
    def width(self) -> int:
        """Number of features of a mapped row."""

    def transform(self, rows: Float) -> Float:
        """Return the mapped rows (n_samples, width), whose features are measured."""


@dataclass(frozen=True)
class NoOptions:
    """The options of a code without options."""


@dataclass(frozen=True)
class Source:
    """The data that a code is learned from.

    Attributes
    ----------
    sample : float32 (n_samples, dim), some training rows.
    information : (dim,) mutual information of each feature with the class in bits, for codes that
        select features; for Hadamard bits that of the rotated features. None if not measured.
    period : number of features of one region of a signature; None if rows have no regions.
    cells : int32 (dim,), the cell (region and word) that each feature belongs to; None if unknown.
    """

    sample: Float
    information: NDArray[np.float64] | None = None
    period: int | None = None
    cells: Ints | None = None


class CodeSpec(ABC):
    """An entry of the registry: what is known of a code before one is learned.

    Attributes
    ----------
    name : the value of ``--codes``.
    aliases : other names that are accepted for it.
    kind : its name in stores, plans and JSON, where that is an older one; else empty.
    description : one line for the help and the documentation.
    options : dataclass of its own options, each a field declared with `myriad.options.option`.
    ratio : how many times smaller rows become by default.
    max_ratio : the largest ratio it can reach, None for no limit.
    uses_information : whether it selects features by their mutual information with the class.
    needs_labels : whether that information must be known.
    by_region : whether it is learned from the regions of a signature, all of one meaning, rather
        than from whole rows.
    min_vectors : fewest rows, or regions of rows, that ``extract`` learns it from.
    compared : whether ``compare --codes all`` includes it.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[str] = ""
    options: ClassVar[type] = NoOptions
    ratio: ClassVar[float] = RATIO
    max_ratio: ClassVar[float | None] = None
    uses_information: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False
    by_region: ClassVar[bool] = False
    min_vectors: ClassVar[int] = 1
    compared: ClassVar[bool] = False

    @property
    def word(self) -> str:
        """The name of the code in stores, plans and JSON."""
        return self.kind or self.name

    @abstractmethod
    def learn(self, source: Source, options: CodeOptions, context: LearningContext) -> Code:
        """Return a code that meets the options, learned from a sample of rows."""

    def count_features(self, dim: int, options: CodeOptions) -> int:
        """Return how many bits of a row to keep: whole bytes that meet the ratio."""
        ratio = options.ratio or self.ratio
        count = min(dim, int(32 * dim / ratio))
        if count < 8 and dim >= 8:
            raise InputError(
                f"--ratio {ratio:g} leaves less than a byte of {dim} features: use a lower ratio."
            )
        return count // 8 * 8 or dim

    def make_row_map(self, source: Source, seed: int) -> RowMap | None:
        """Return the map of rows whose features are selected; None for the rows themselves."""
        return None

    def bins(self, options: CodeOptions) -> int | None:
        """Return the number of bins that mutual information is measured with; None for signs."""
        return None

    def check(self, options: CodeOptions) -> None:
        """Raise `InputError` where options do not fit together."""
        if self.max_ratio is not None and (options.ratio or 0) > self.max_ratio:
            raise InputError(
                f"--ratio {options.ratio:g} is more than the {self.max_ratio:g} that {self.name} "
                "codes reach: use pq or bits."
            )

    def estimate_work(self, dim: int, regions: int) -> float:
        """Return the multiply-adds of learning the code, beyond describing the sample."""
        return 0.0

    def count_measured(self, dim: int) -> int:
        """Return how many columns of mutual information `learn` needs, if rows are one cell."""
        return dim

    def estimate(self, dim: int, period: int) -> Code:
        """Return a code of the default size for rows of `dim` features, for ``plan`` to time.

        By default it is learned from a few random rows.
        """
        import numpy as np

        from myriad.codes.registry import CodeOptions
        from myriad.parallel import LearningContext

        rows = np.random.default_rng(0).standard_normal((16, dim), dtype=np.float32)
        information = np.ones(self.count_measured(dim)) if self.uses_information else None
        source = Source(rows, information, period)
        return self.learn(source, CodeOptions(self.name), LearningContext(threads=1))
