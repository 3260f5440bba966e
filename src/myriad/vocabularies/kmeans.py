"""k-means by faiss, held to one thread so that a seed gives the same centres on any machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from myriad.arrays import Float, Ints, as_rows
from myriad.errors import InputError
from myriad.parts import Part
from myriad.randomness import generator

_ROWS_A_CENTRE = 256
_BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class Words(Part, kind="words"):
    """A vocabulary of visual words: float32 `centres` of shape (n_words, dim)."""

    centres: Float

    def __post_init__(self) -> None:
        centres = self.centres
        if not isinstance(centres, np.ndarray) or centres.dtype != np.float32:
            raise InputError("The centres of visual words must be float32.")
        if centres.ndim != 2 or 0 in centres.shape or not np.isfinite(centres).all():
            raise InputError("The centres of visual words must be finite, a row a word.")

    @property
    def n_words(self) -> int:
        """The number of words."""
        return len(self.centres)

    @property
    def dim(self) -> int:
        """The length of a descriptor."""
        return self.centres.shape[1]

    def assign(self, values: Float) -> Ints:
        """Return the word nearest to each row of `values`, int32."""
        return nearest_centres(values, self.centres)


def learn_words(values: Float, n_words: int, *, seed: int, rounds: int = 15) -> Words:
    """Learn a vocabulary of `n_words` words from the rows of `values` by k-means."""
    return Words(learn_centres(values, n_words, seed=seed, rounds=rounds))


def learn_centres(values: Float, n_centres: int, *, seed: int, rounds: int = 15) -> Float:
    """Return `n_centres` centres of the rows of `values`, float32, of shape (n_centres, dim).

    At most 256 rows a centre are looked at, drawn by the seed.
    """
    import faiss

    values = as_rows(values, name="The descriptors")
    n_samples, dim = values.shape
    check_enough(n_samples, n_centres)
    sample = values[draw_rows(n_samples, _ROWS_A_CENTRE * n_centres, seed, "k-means rows")]
    with threadpool_limits(limits=1):
        kmeans = faiss.Kmeans(
            dim,
            n_centres,
            niter=rounds,
            seed=seed & 0x7FFFFFFF,
            min_points_per_centroid=1,
            max_points_per_centroid=_ROWS_A_CENTRE + 1,
        )
        kmeans.train(sample)
    return np.ascontiguousarray(kmeans.centroids, dtype=np.float32)


def nearest_centres(values: Float, centres: Float) -> Ints:
    """Return the index of the centre nearest to each row, the lowest among equals."""
    half_norms = 0.5 * np.einsum("kd,kd->k", centres, centres)
    nearest = np.empty(len(values), np.int32)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        nearest[start : start + _BLOCK] = (block @ centres.T - half_norms).argmax(axis=1)
    return nearest


def draw_rows(n_samples: int, most: int, seed: int, purpose: str) -> slice | np.ndarray:
    """Return indices of at most `most` rows, drawn without replacement, in their order."""
    if n_samples <= most:
        return slice(None)
    drawn = generator(seed, purpose).choice(n_samples, most, replace=False, shuffle=False)
    return np.sort(drawn)


def check_enough(n_samples: int, n_centres: int) -> None:
    """Raise `InputError` unless there are at least as many rows as centres."""
    if n_centres < 1:
        raise InputError(f"A vocabulary needs at least one word, not {n_centres}.")
    if n_samples < n_centres:
        raise InputError(
            f"A vocabulary of {n_centres} cannot be learned from {n_samples} descriptors: "
            "give more images or ask for a smaller vocabulary."
        )
