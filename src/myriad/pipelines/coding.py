"""From a ratio to a code: parameters that meet it, and the learning of the code from rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import (
    BINS,
    ROTATIONS,
    Code,
    RotatedCode,
    draw_rotation,
    learn_bilinear,
    learn_bits,
    learn_chosen,
    learn_hadamard,
    learn_rotated,
    learn_scalar,
)
from myriad.codes.packing import packed_bytes
from myriad.errors import InputError
from myriad.parallel import Workers
from myriad.progress import SILENT, Progress
from myriad.store import Rows, inform_rows

KINDS = ("pq", "bits", "turned", "bilinear", "scalar", "none")
"""The codes by the words of ``--codes``."""
CHOOSING = ("bits", "turned", "none")
"""Codes that keep the most informative features."""
RATIO = 32.0
"""How many times smaller rows become unless the user says otherwise."""
SCALAR_RATIO = 4.0
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64)  # of sub-vectors


@dataclass(frozen=True)
class CodeOptions:
    """What code to learn.

    Attributes
    ----------
    codes : one of `KINDS`; ``"none"`` keeps float32 features.
    ratio : how many times smaller rows are to become, at least; None for the default of the code.
    keep : the part of the features to keep, the most informative ones, of `CHOOSING`.
    rotation : how rows are turned before ``pq``: ``"none"``, ``"random"`` or ``"opq"``.
    bins : equal bins that information is measured with; None for the sign.
    random : whether the projections of ``bilinear`` stay random instead of being learned.
    """

    codes: str = "pq"
    ratio: float | None = None
    keep: float | None = None
    rotation: str = "none"
    bins: int | None = None
    random: bool = False

    def __post_init__(self) -> None:
        if self.codes not in KINDS:
            raise InputError(f"--codes must be one of {', '.join(KINDS)}, not {self.codes!r}.")
        if self.ratio is not None and not 1 <= self.ratio < 1e9:
            raise InputError(f"--ratio must be a number from 1 on, not {self.ratio:g}.")
        if self.codes == "scalar" and (self.ratio or 0) > SCALAR_RATIO:
            raise InputError(
                f"--ratio {self.ratio:g} is more than the {SCALAR_RATIO:g} that scalar codes "
                "reach: use pq or bits."
            )
        if self.rotation not in ROTATIONS:
            known = ", ".join(ROTATIONS)
            raise InputError(f"--rotation must be one of {known}, not {self.rotation!r}.")
        if self.bins is not None and self.bins not in BINS:
            known = ", ".join(map(str, BINS))
            raise InputError(f"--bins must be one of {known}, not {self.bins}.")
        self._check_belonging()

    def _check_belonging(self) -> None:
        """Refuse options that another code has."""
        listed = " and ".join([", ".join(CHOOSING[:-1]), CHOOSING[-1]])
        if self.keep is not None and not 0 < self.keep <= 1:
            raise InputError(f"--keep must be a part above 0 and up to 1, not {self.keep:g}.")
        if self.keep is not None and self.codes not in CHOOSING:
            raise InputError(f"--keep belongs to --codes {listed}, not to {self.codes}.")
        if self.keep is not None and self.ratio is not None:
            raise InputError("--keep and --ratio both say how many features stay: give one.")
        if self.bins is not None and self.codes not in CHOOSING:
            raise InputError(f"--bins belongs to --codes {listed}, not to {self.codes}.")
        if self.rotation != "none" and self.codes != "pq":
            raise InputError(f"--rotation belongs to --codes pq, not to {self.codes}.")
        if self.random and self.codes != "bilinear":
            raise InputError(f"--random belongs to --codes bilinear, not to {self.codes}.")

    @property
    def informs(self) -> bool:
        """Whether the code needs to know what each feature says about the class."""
        return self.codes in CHOOSING


@dataclass(frozen=True)
class Source:
    """What a code is learned from.

    Attributes
    ----------
    sample : float32 (n_samples, dim), some training rows.
    information : (dim,) bits, of the codes that choose features; of turned ones for turned bits.
    period : features after which rows repeat their meaning.
    """

    sample: Float
    information: NDArray[np.float64] | None = None
    period: int | None = None


def learn_code(
    source: Source,
    options: CodeOptions,
    *,
    seed: int = 0,
    threads: int | None = None,
    workers: Workers | None = None,
    progress: Progress = SILENT,
) -> Code:
    """Learn the code that meets the options.

    Parameters
    ----------
    place : whose workers learn codebooks and projections; None for this machine. The code is the
        same.
    """
    dim = source.sample.shape[1]
    common: dict[str, Any] = {"seed": seed, "threads": threads, "progress": progress}
    if options.codes == "scalar":
        return learn_scalar(source.sample, **common)
    if options.codes == "pq":
        d, bits = choose_product(dim, options.ratio or RATIO)
        return learn_rotated(
            source.sample,
            rotation=options.rotation,
            d=d,
            bits=bits,
            period=source.period,
            workers=workers,
            **common,
        )
    count = count_features(dim, options)
    if options.codes == "bilinear":
        learned = not options.random
        return learn_bilinear(
            source.sample, n_bits=count, learned=learned, workers=workers, **common
        )
    _check_information(source.information, options)
    if options.codes == "bits":
        return learn_bits(source.sample, n_bits=count, information=source.information, **common)
    if options.codes == "turned":
        return learn_hadamard(source.sample, n_bits=count, information=source.information, **common)
    return learn_chosen(source.sample, count=count, information=source.information, **common)


def inform(
    rows: Rows,
    sample: Float,
    options: CodeOptions,
    *,
    seed: int = 0,
    threads: int | None = None,
    workers: Workers | None = None,
    progress: Progress = SILENT,
) -> NDArray[np.float64] | None:
    """Return what each feature that a code may keep says about the class; None if it chooses none.

    Parameters
    ----------
    rows, sample : the training rows, and those of them that the code will be learned from.
    seed : of the code; turned bits ask about the features that it turns rows into.
    place : whose workers pass over the rows; None for this machine.
    """
    if not options.informs:
        return None
    turning = draw_rotation(sample, seed=seed) if options.codes == "turned" else None
    if turning is not None and not (rows.labels >= 0).any():
        return None  # turned features are alike: without labels the first ones do
    return inform_rows(
        rows,
        bins=options.bins,
        turning=turning,
        threads=threads,
        workers=workers,
        progress=progress,
    )


def choose_product(dim: int, ratio: float) -> tuple[int, int]:
    """Return the length of sub-vectors and the bits of an index that just meet a ratio.

    Of those that give the longest rows the length 8 is preferred, as in [CC], then most bits.
    """
    found = [
        (packed_bytes(-(-dim // d), bits), d, bits)
        for d in _LENGTHS
        for bits in range(8, 0, -1)
        if d <= dim and 4 * dim >= ratio * packed_bytes(-(-dim // d), bits)
    ]
    if not found:
        raise InputError(
            f"--ratio {ratio:g} is more than product codes reach with {dim} features: use bits."
        )
    _, d, bits = max(found, key=lambda item: (item[0], item[1] == 8, item[2]))
    return d, bits


def count_features(dim: int, options: CodeOptions) -> int:
    """Return how many features or bits to keep; whole bytes of them where they are bits."""
    if options.keep is not None:
        return max(1, round(options.keep * dim))
    if options.codes == "none":
        return max(1, int(dim / (options.ratio or 1.0)))
    count = min(dim, int(32 * dim / (options.ratio or RATIO)))
    if count < 8 and dim >= 8:
        raise InputError(
            f"--ratio {options.ratio:g} leaves less than a byte of {dim} features: ask less."
        )
    return count // 8 * 8 or dim


def _check_information(information: NDArray[np.float64] | None, options: CodeOptions) -> None:
    if information is None or information.max() > 0:
        return
    hint = "scalar or pq" if options.codes == "bits" else "all of them"
    raise InputError(
        "No feature says anything about the class"
        + (" by its sign" if options.bins is None else "")
        + f", so none can be chosen: use {hint}."
    )


def describe_code(code: Code) -> dict[str, Any]:
    """Return the parameters of a code in words, plain JSON."""
    inner = getattr(code, "code", None)
    found: dict[str, Any] = {"kind": code.kind}
    if isinstance(inner, Code):
        found = describe_code(inner) | found
    if isinstance(code, RotatedCode):
        found |= {"kind": code.code.kind, "rotation": len(code.rotation)}
    for name in ("d", "bits"):
        if hasattr(code, name):
            found[name] = getattr(code, name)
    if hasattr(code, "d") and code.dim % code.d:
        found["padding"] = code.d - code.dim % code.d
    if code.kind in ("bits", "features", "bilinear"):
        found["features"] = code.decoded_dim
    if hasattr(code, "left"):
        found["matrix"] = [list(code.left.shape), list(code.right.shape)]  # type: ignore[attr-defined]
    return found


def measure_error(code: Code, blocks: Iterable[Float]) -> float:
    """Return the squared error of coded rows over the squared norm of plain ones."""
    error = norm = 0.0
    for X in blocks:
        lost = code.expand(code.decode(code.encode(X))) - X
        error += float(np.einsum("ij,ij->", lost, lost, dtype=np.float64))
        norm += float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    return error / norm if norm else 0.0
