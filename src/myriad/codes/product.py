"""Product codes: each short sub-vector of a row becomes the index of its nearest centroid.

[GP, section 4.1; CC, section 3.1]: d = 8 and 8 bits make a row 32 times smaller, ratio
``32 d / bits`` in general. Where the dimension is not a multiple of d, rows are padded with zeros.

The regions of a spatial pyramid resemble each other: the whole image is nearly the mean of its
stripes. So a sub-vector does not hold d features of one region but ``d / regions`` of each, which
nearly halves the squared error of Fisher vectors with 4 regions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float, as_rows
from myriad.codes.code import Code
from myriad.codes.codebooks import learn_codebook
from myriad.codes.packing import pack, packed_bytes, unpack
from myriad.codes.product_kernels import (
    assign_subvectors,
    look_up,
    look_up_eights,
    look_up_four_regions,
    transpose,
)
from myriad.errors import InputError
from myriad.parallel import DEFAULT_LEARNING, LearningContext, SharedArray, share_array
from myriad.randomness import generator
from myriad.serialisation import check_array, check_count, later_field

_MIN_VECTORS = 4096  # sub-vectors that a book is learned from, if there are as many
_TASKS = 8  # tasks per worker, of equally many books each
_MAX_BOOKS = 64  # books per task
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 48, 64)  # of sub-vectors to choose from


@dataclass(frozen=True, eq=False)
class ProductCode(Code, kind="pq"):
    """A learned product code.

    Parameters
    ----------
    codebooks : float32 (n_books, 2**bits, d)
        Sub-vector m of a row uses book ``m % n_books``.
    dim : number of features of a row.
    regions : the equal parts of a row that each sub-vector has features of; see `interleave`.
    """

    codebooks: Float
    dim: int
    regions: int = later_field(1)

    def __post_init__(self) -> None:
        check_count(self.dim, "The number of features of a product code")
        check_count(self.regions, "The number of regions of a product code")
        books = self.codebooks
        check_array(books, "The codebooks of a product code", (None, None, None))
        n_books, n_centroids, d = books.shape
        if n_centroids not in (2, 4, 8, 16, 32, 64, 128, 256):
            raise InputError(f"Codebooks of shape {books.shape} do not fit a product code.")
        if n_books > self.n_sub:
            raise InputError(f"{n_books} codebooks do not fit {self.n_sub} sub-vectors.")
        if self.regions > 1 and (d % self.regions or n_books * self.regions * d != self.dim):
            raise InputError(f"{self.regions} regions do not fit {n_books} codebooks of {d}.")
        object.__setattr__(self, "codebooks", np.ascontiguousarray(books))

    @property
    def d(self) -> int:
        """Length of a sub-vector."""
        return self.codebooks.shape[2]

    @property
    def bits(self) -> int:
        """Bits of an index."""
        return self.codebooks.shape[1].bit_length() - 1

    @property
    def n_sub(self) -> int:
        """Number of sub-vectors of a row, the last one padded if necessary."""
        return -(-self.dim // self.d)

    @property
    def bytes_per_row(self) -> int:
        """Number of bytes of a coded row."""
        return packed_bytes(self.n_sub, self.bits)

    def describe(self) -> dict[str, Any]:
        """Return the length of sub-vectors, the bits of an index, and the padding if any."""
        described = {"kind": self.kind, "d": self.d, "bits": self.bits}
        if self.dim % self.d:
            described["padding"] = self.d - self.dim % self.d
        return described

    def _encode(self, rows: Float, codes: Bytes) -> None:
        transposed, halves = self._transposed
        if self.regions > 1:
            rows = interleave(rows, self.regions, self.d)
        n_full, rest = divmod(self.dim, self.d)
        indices = np.empty((len(rows), self.n_sub), np.uint8)
        assign_subvectors(rows, transposed, halves, indices, n_full)
        if rest:
            last = n_full % len(transposed)
            padded = np.zeros((len(rows), self.d), np.float32)
            padded[:, :rest] = rows[:, n_full * self.d :]
            index = np.empty((len(rows), 1), np.uint8)
            assign_subvectors(padded, transposed[last:][:1], halves[last:][:1], index, 1)
            indices[:, -1:] = index
        pack(indices, self.bits, codes)

    def _decode(self, codes: Bytes, out: Float) -> None:
        indices = unpack(codes, self.bits, self.n_sub)
        n_full, rest = divmod(self.dim, self.d)
        if self.d == 8 and self.regions == 4:
            look_up_four_regions(
                indices.reshape(len(out), 4, -1),
                self.codebooks.view(np.uint64),
                out.view(np.uint64).reshape(len(out), 4, -1, 4),
            )
            return
        if self.d == 8 and rest == 0:
            words = out.view(np.uint64).reshape(len(out), n_full, 4)
            look_up_eights(indices, self.codebooks.view(np.uint64), words)
        else:
            look_up(indices, self.codebooks, out, n_full)
        if rest:
            book = self.codebooks[n_full % len(self.codebooks)]
            out[:, n_full * self.d :] = book[indices[:, -1], :rest]
        if self.regions > 1:
            out[:] = interleave(out, self.regions, self.d)

    @cached_property
    def _transposed(self) -> tuple[Float, Float]:
        """The books transposed for encoding, (n_books, d, 2**bits), and half the squared norms."""
        n_books, n_centroids, d = self.codebooks.shape
        transposed = np.empty((n_books, d, n_centroids), np.float32)
        halves = np.empty((n_books, n_centroids), np.float32)
        for m, book in enumerate(self.codebooks):
            transpose(book, transposed[m], halves[m])
        return transposed, halves


def interleave(rows: Float, regions: int, d: int) -> Float:
    """Return rows whose sub-vectors of length d have features of all regions.

    A region is a block of ``dim / regions`` consecutive features. Those of one sub-vector of every
    region, regions x d numbers, are arranged again: sub-vector r of the result has the features
    from ``r d / regions`` on of the first region, then of the second, and so on. It is its own
    inverse.
    """
    n_samples, dim = rows.shape
    blocks = rows.reshape(n_samples, regions, dim // (regions * d), regions, d // regions)
    return blocks.swapaxes(1, 3).reshape(n_samples, dim)


def count_regions(dim: int, d: int, period: int | None) -> int:
    """Return how many regions a sub-vector has features of; 1 where they do not fit into it."""
    regions = dim // (period or dim)
    return regions if d % regions == 0 and (dim // regions) % d == 0 else 1


def choose_product(dim: int, ratio: float) -> tuple[int, int]:
    """Return the length of sub-vectors and the bits of an index that just meet a ratio.

    Among those that give the longest rows the length 8 is preferred, as in [CC], then most bits.
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


def draw_product(dim: int, period: int) -> ProductCode:
    """Return a code of d = 8 and 8 bits with random books: encoding takes as long as with any."""
    n_books = -(-period // 8)
    books = np.random.default_rng(0).standard_normal((n_books, 256, 8), dtype=np.float32)
    return ProductCode(books * np.float32(1e-2), dim, count_regions(dim, 8, period))


def learn_product(
    sample: Float,
    *,
    d: int = 8,
    bits: int = 8,
    period: int | None = None,
    context: LearningContext = DEFAULT_LEARNING,
    max_rows_per_centroid: int = 16,
    rounds: int = 5,
) -> ProductCode:
    """Learn the codebooks of a product code from a sample of rows.

    Parameters
    ----------
    sample : float32 (n_samples, dim)
    d : length of a sub-vector.
    bits : 1 to 8; a book holds ``2**bits`` centroids.
    period : the number of features of one region of a signature, such as a Fisher vector; regions
        repeat the same layout. If d is a multiple of their number, a sub-vector has features of all
        of them (see `interleave`), and as many neighbouring sub-vectors share one book; if not,
        sub-vectors at the same position of different regions share one. Sharing saves memory and
        time. None: each sub-vector has its own book.
    context : its threads or workers learn the books.
    max_rows_per_centroid : sub-vectors used for each centroid, at most; 4,096 of them are always
        used, if there are as many.
    rounds : iterations of k-means, at most.

    The books are the same for a seed on any number of threads and workers.
    """
    rows = as_rows(sample, name="The sample for a product code")
    n_samples, dim = rows.shape
    n_books = count_books(dim, d, bits, period)
    n_centroids = 2**bits
    n_vectors = n_samples * max(1, dim // d // n_books)  # sub-vectors that every book has
    regions = count_regions(dim, d, period)
    if n_vectors < n_centroids:
        raise InputError(
            f"{n_vectors} sample vectors are too few for {n_centroids} centroids ({bits} bits): "
            f"use more rows or fewer bits."
        )
    order = generator(context.seed, "product codebooks").permutation(n_vectors)
    chosen = order[: max(n_centroids * max_rows_per_centroid, _MIN_VECTORS)]
    books = np.empty((n_books, n_centroids, d), np.float32)
    learn_codebook(rows[:2, :d].copy(), 2, rounds=1)  # compiled once, before workers need it
    with (
        context.progress.step("Learning codebooks", n_books, "codebooks") as advance,
        share_array(rows, context) as (executor, shared),
    ):
        # A few tasks per worker: worth sending, and long enough to read whole cache lines.
        size = max(1, min(_MAX_BOOKS, n_books // (_TASKS * executor.n_workers)))
        tasks = [range(m, min(m + size, n_books)) for m in range(0, n_books, size)]
        learning = _BookLearning(shared, chosen, n_books, n_centroids, d, rounds, regions)
        for task, learned in zip(tasks, executor.map(learning, tasks), strict=True):
            books[task.start : task.stop] = learned
            advance(len(task))
    return ProductCode(books, dim, regions)


@dataclass(frozen=True, eq=False)
class _BookLearning:
    """Learns some books from the chosen sub-vectors of a sample."""

    sample: SharedArray
    chosen: NDArray[np.int64]
    n_books: int
    n_centroids: int
    d: int
    rounds: int
    regions: int

    def __call__(self, task: range) -> list[Float]:
        rows = self.sample.open()
        if self.regions > 1:
            points = _gather_interleaved(rows, self.chosen, task, self.regions, self.d)
        else:
            points = _gather_points(rows, self.chosen, task, self.n_books, self.d)
        return [learn_codebook(some, self.n_centroids, rounds=self.rounds) for some in points]


def count_books(dim: int, d: int, bits: int, period: int | None) -> int:
    """Return the number of distinct books that the sub-vectors need.

    Raises `InputError` if the settings are not whole numbers or do not fit rows of `dim` features.
    """
    for name, value in (("d", d), ("bits", bits), ("period", 1 if period is None else period)):
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise InputError(f"{name} of a product code must be a whole number, not {value!r}.")
    if not 1 <= bits <= 8:
        raise InputError(f"A product code takes 1 to 8 bits, not {bits}.")
    if not 1 <= d <= dim:
        raise InputError(f"The length of a sub-vector must lie between 1 and {dim}, not {d}.")
    n_sub = -(-dim // d)
    if period is None:
        return n_sub
    if period < 1 or dim % period:
        raise InputError(f"A period of {period} features does not divide the {dim} of a row.")
    return min(math.lcm(period, d) // d, n_sub)


def _gather_points(
    rows: Float, chosen: NDArray[np.int64], books: range, n_books: int, d: int
) -> Float:
    """Return the chosen sub-vectors (len(books), n, d) of some consecutive books.

    Number p of `chosen` stands for period ``p // n_samples`` of row ``p % n_samples``. The last
    sub-vector of a row may be padded with zeros.
    """
    n_samples, dim = rows.shape
    found = np.zeros((len(chosen), len(books) * d), np.float32)
    periods, row = np.divmod(chosen, n_samples)
    for period in range(periods.max() + 1):
        start = (period * n_books + books.start) * d
        width = min(len(books) * d, dim - start)
        here = periods == period
        found[here, :width] = rows[row[here], start : start + width]
    return np.ascontiguousarray(found.reshape(len(chosen), len(books), d).swapaxes(0, 1))


def _gather_interleaved(
    rows: Float, chosen: NDArray[np.int64], books: range, regions: int, d: int
) -> Float:
    """Return what `_gather_points` does, of rows that would have to be interleaved first."""
    n_samples, dim = rows.shape
    blocks = rows.reshape(n_samples, regions, dim // (regions * d), regions, d // regions)
    found = np.empty((len(books), len(chosen), regions, d // regions), np.float32)
    parts, row = np.divmod(chosen, n_samples)
    for part in range(regions):
        here = parts == part
        some = blocks[:, :, books.start : books.stop, part][row[here]]
        found[:, here] = some.transpose(2, 0, 1, 3)
    return found.reshape(len(books), len(chosen), d)
