"""Dual coordinate ascent with a certificate: train until the duality gap is small.

The primal value of the weights is at least, and the dual value of the variables at most, the
optimum; their difference, the gap, bounds how far the weights are from it. Both are made from the
variables alone, in float64, so that no rounding of the training enters.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from myriad.errors import WorkError
from myriad.parallel import ThreadPool
from myriad.progress import Advance, Progress
from myriad.store import Rows
from myriad.training.dual.sparse_duals import SparseDuals
from myriad.training.engine.chunks import Chunk, ChunkLayout, read_chunks

FIRST_CHECK, FIRST_WATCHED, FIRST_RECORD = 3, 6, 16
"""Epochs before the first certificate, which costs as much as a few epochs: without estimates of
the gap on the way; with them if somebody watches, and if not."""
FALLS_TO = 0.6
"""What is left of the gap at the end of a pass, as a part of the estimate on the way, until a
certificate tells better."""
RANGE_BYTES = 8 << 20


@dataclass(frozen=True)
class Certificate:
    """Values of independent problems, one entry each: one-vs-rest has one a class, top-k one.

    Attributes
    ----------
    primals, duals : float64 arrays of the same shape.
    """

    primals: NDArray[np.float64]
    duals: NDArray[np.float64]

    @property
    def gaps(self) -> NDArray[np.float64]:
        """The gap of each problem, as a part of its value; what rounding makes negative is 0."""
        size = np.maximum(np.abs(self.primals), np.abs(self.duals))
        gaps = (self.primals - self.duals) / np.maximum(size, np.finfo(np.float64).tiny)
        return np.maximum(gaps, 0.0)

    @property
    def gap(self) -> float:
        """The largest of the gaps."""
        return float(self.gaps.max())

    def to_json(self) -> dict[str, float]:
        """Return the sums of the values, and the largest gap."""
        primal, dual = float(self.primals.sum()), float(self.duals.sum())
        return {"primal": primal, "dual": dual, "gap": self.gap}


class Ascending(Protocol):
    """What training until a certificate asks of variables, wherever they are: see `Ascent`."""

    rows: Rows
    lam: float
    epoch: int
    certificate: Certificate
    estimates: bool
    estimate: float | None

    def run_epoch(self, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Pass once over the rows."""

    def certify(self, pool: ThreadPool) -> Certificate:
        """Make the weights anew from the variables; return the values of both."""

    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases as they were last certified."""

    def change_lam(self, lam: float) -> None:
        """Go on with another `lam`."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that training goes on from, after a certificate."""

    def restore(self, arrays: dict[str, NDArray[Any]], epoch: int, pool: ThreadPool) -> None:
        """Go on from arrays that `state` returned after so many epochs."""


class Ascent(ABC):
    """Dual variables under training.

    Attributes
    ----------
    rows : what is trained on.
    n_classes : at least two.
    lam : weight of the squared norm.
    duals : the variables.
    epoch : passes made.
    block : rows whose scores come from one product.
    width : numbers of a row that certificates hold at a time.
    certificate : the last one made.
    estimates : whether passes estimate the gap, now and then.
    estimate : the relative gap as the last pass met it, or None if that did not look.
    """

    certificate: Certificate
    estimates = False
    estimate: float | None = None

    def __init__(self, rows: Rows, n_classes: int, *, lam: float, dtype: Any, block: int) -> None:
        self.rows = rows
        self.n_classes = n_classes
        self.lam = lam
        self.dtype = np.dtype(dtype)
        self.block = block
        self.duals = SparseDuals(rows.n_rows)
        self.epoch = 0
        self.width = max(rows.dim, n_classes)

    def run_epoch(self, *, seed: int, pool: ThreadPool, advance: Advance) -> None:
        """Pass once over the rows, in the order that the seed gives this epoch."""
        for chunk in read_chunks(
            self.rows,
            layout=ChunkLayout(self.block, grams=self._with_grams()),
            seed=seed,
            epoch=self.epoch,
            dtype=self.dtype,
            pool=pool,
            with_targets=False,
        ):
            self._step_chunk(chunk, pool)
            advance(len(chunk.X))
        self.epoch += 1

    def sum_ranges(
        self, function: Callable[[NDArray[Any], range], NDArray[np.float64]], pool: ThreadPool
    ) -> NDArray[np.float64]:
        """Return the sum of a function of all rows, (m, dim), a range of them at a time.

        Ranges and the order of the sum do not depend on the number of threads.
        """
        size = max(1, min(1024, RANGE_BYTES // (8 * self.width)))
        starts = range(0, self.rows.n_rows, size)
        ranges = [range(start, min(start + size, self.rows.n_rows)) for start in starts]
        results: list[Any] = [None] * len(ranges)

        def work(number: int) -> None:
            results[number] = function(self.rows.read(ranges[number]), ranges[number])

        pool.share(work, range(len(ranges)))
        return np.sum(results, axis=0)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that training goes on from, after a certificate."""
        names = ("starts", "counts", "classes", "values")
        return dict(zip(names, self.duals.table(), strict=True))

    def restore(self, arrays: dict[str, NDArray[Any]], epoch: int, pool: ThreadPool) -> None:
        """Go on from arrays that `state` returned after so many epochs."""
        self.duals.restore(**arrays)
        self.epoch = epoch
        self.certify(pool)

    def _with_grams(self) -> bool:
        return True

    @abstractmethod
    def _step_chunk(self, chunk: Chunk, pool: ThreadPool) -> None:
        """Step through the rows of a chunk."""

    def certify(self, pool: ThreadPool) -> Certificate:
        """Make the weights anew from the variables; return the values of both, kept too."""
        with np.errstate(over="ignore", invalid="ignore"):
            self.certificate = self._certify(pool)
        return self.certificate

    @abstractmethod
    def _certify(self, pool: ThreadPool) -> Certificate:
        """Make the weights anew from the variables, and return the values of both."""

    @abstractmethod
    def change_lam(self, lam: float) -> None:
        """Go on with another `lam` from where the variables are, or near."""

    @abstractmethod
    def weights(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return weights and biases as they were last certified."""


def ascend(
    ascent: Ascending,
    *,
    tol: float,
    epochs: int,
    seconds: float | None,
    seed: int,
    pool: ThreadPool,
    progress: Progress,
    history: list[dict[str, Any]] | None = None,
    observe: Callable[[list[dict[str, Any]]], None] | None = None,
    watched: bool = False,
) -> list[dict[str, Any]]:
    """Train until the relative gap is at most `tol`, or for so many epochs or seconds.

    Returns the certificates made on the way, the last being that of the weights as they are: for
    each the epoch, the seconds since the beginning, primal, dual and gap, and the gap as the last
    pass estimated it, where it does. A `history` is gone on with; `observe` is called with it after
    each certificate. Where the gap is estimated, certificates on the way are for the record alone;
    if `watched`, as by held-out rows that they are judged on, there are more of them.
    """
    history = list(history or [])
    began = time.perf_counter() - (history[-1]["seconds"] if history else 0.0)
    first = ascent.epoch - (history[-1]["epoch"] if history else 0)
    record = FIRST_WATCHED if watched else FIRST_RECORD
    check = first + min(record if ascent.estimates else FIRST_CHECK, epochs)
    if history:
        if history[-1]["gap"] <= tol or ascent.epoch - first >= epochs:
            return history
        check = min(first + epochs, ascent.epoch + plan_check(history, tol, ascent.estimates))
    title = f"Training to a gap of {tol:g}"
    with progress.step(title, epochs * ascent.rows.n_rows, "rows") as advance:
        while True:
            ascent.run_epoch(seed=seed, pool=pool, advance=advance)
            spent = time.perf_counter() - began
            late = seconds is not None and spent >= seconds
            near = ascent.estimate is not None and expect_gap(ascent.estimate, history) <= tol
            if ascent.epoch < check and not near and not late:
                continue
            certificate = ascent.certify(pool)
            spent = round(time.perf_counter() - began, 3)
            if not np.isfinite(certificate.gap):
                raise WorkError(
                    f"The weights overflowed in epoch {ascent.epoch}: the rows are too large for "
                    f"lam={ascent.lam:g}. Scale them to norms of about 1."
                )
            history.append(
                {"epoch": ascent.epoch - first, "seconds": spent, **certificate.to_json()}
            )
            if ascent.estimate is not None:
                history[-1]["estimate"] = ascent.estimate
            if observe is not None:
                observe(history)
            if certificate.gap <= tol or late or ascent.epoch - first >= epochs:
                return history
            check = min(first + epochs, ascent.epoch + plan_check(history, tol, ascent.estimates))


def expect_gap(estimate: float, history: list[dict[str, Any]]) -> float:
    """Return the gap to expect at the end of a pass that estimated it on the way."""
    if not history or not history[-1].get("estimate"):
        return FALLS_TO * estimate
    return estimate * float(history[-1]["gap"] / history[-1]["estimate"])


def plan_check(history: list[dict[str, Any]], tol: float, estimates: bool) -> int:
    """Return after how many epochs to make the next certificate.

    When the gap may be small enough, if it goes on to shrink alike; where the gap is estimated on
    the way, that will tell, and certificates are only for the record: at twice the epoch.
    """
    last = history[-1]
    if estimates:
        return int(last["epoch"])
    most = max(2, last["epoch"] // 2)
    if len(history) < 2 or not 0 < last["gap"] < history[-2]["gap"]:
        return most
    shrunk = math.log(history[-2]["gap"] / last["gap"]) / (last["epoch"] - history[-2]["epoch"])
    return max(1, min(most, math.ceil(math.log(last["gap"] / tol) / shrunk)))
