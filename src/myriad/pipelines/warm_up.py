"""Compiling kernels before they are needed: each job is run once, on a little drawn data.

A kernel is compiled for the types of its arguments, which only a caller knows. So the jobs
themselves are run, in worker processes: Numba compiles one kernel at a time in a process.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.byte_tiles import is_available
from myriad.images import choose_glyphs, write_glyphs
from myriad.models.screening import rank_screened, round_weights
from myriad.parallel import open_processes, thread_count
from myriad.pipelines.describing.options import ExtractOptions
from myriad.pipelines.installation import describe_caches
from myriad.pipelines.predicting.predict import predict
from myriad.pipelines.run import Run
from myriad.pipelines.stores.importing import ImportOptions, import_rows
from myriad.pipelines.training.train import train
from myriad.progress import SILENT, Progress
from myriad.training import METHODS, make_method

IMAGES, ROWS, LABELS, STORE = "images", "rows.npy", "labels.npy", "rows.store"
RANKING = "ranking of many classes"
CLASSES, CLASS_IMAGES, CLASS_ROWS, FEATURES = 10, 12, 20, 48
THREADS = 1, 2
"""Work that threads share has separate kernels."""


@dataclass(frozen=True)
class WarmedUp:
    """The kernels that were compiled.

    Attributes
    ----------
    kernels : compiled kernels in the cache.
    compiled : those that were not there before.
    folder : of the cache.
    """

    kernels: int
    compiled: int
    folder: str
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``warm-up`` prints."""
        return {
            "kernels": self.kernels,
            "compiled": self.compiled,
            "folder": self.folder,
            "seconds": round(self.seconds, 3),
        }


def warm_up(*, threads: int | None = None, progress: Progress = SILENT) -> WarmedUp:
    """Compile the kernels that images, codes and training methods need with their defaults.

    Parameters
    ----------
    threads : worker processes that compile; one per core by default.
    """
    began = time.perf_counter()
    before = describe_caches()
    jobs = list_jobs()
    with tempfile.TemporaryDirectory(prefix="myriad-") as folder:
        work = Job(Path(folder))
        work.draw()
        with (
            progress.step("Compiling kernels", len(jobs), "jobs") as advance,
            open_processes(thread_count(threads), preload=[__name__]) as executor,
        ):
            for _ in executor.map(work, jobs):
                advance(1)
    after = describe_caches()
    return WarmedUp(
        kernels=after["n_kernels"],
        compiled=max(0, after["n_kernels"] - before["n_kernels"]),
        folder=after["kernels"],
        seconds=time.perf_counter() - began,
    )


def compile_screening(X: NDArray[np.float32]) -> None:
    """Rank rows as if there were many classes, where the processor can screen them."""
    if is_available():
        biases = np.zeros(len(X), np.float32)
        labels, best = np.empty((len(X), 2), np.int32), np.empty((len(X), 2), np.float32)
        rounded = round_weights(X, biases)
        assert rounded is not None
        rank_screened(X, X, biases, rounded, labels, best)


def list_jobs() -> list[str]:
    """Return the names of all jobs."""
    return [IMAGES, RANKING, *METHODS]


@dataclass(frozen=True)
class Job:
    """Runs a job by its name: `IMAGES`, `RANKING`, or a training method.

    It changes nothing outside `folder`.
    """

    folder: Path

    def draw(self) -> None:
        """Draw images and rows."""
        write_glyphs(self.folder / IMAGES, choose_glyphs(CLASSES), images=CLASS_IMAGES, seed=0)
        draws = np.random.default_rng(0)
        labels = np.arange(CLASSES * CLASS_ROWS) % CLASSES
        means = draws.normal(size=(CLASSES, FEATURES))
        rows = means[labels] + draws.normal(size=(len(labels), FEATURES))
        np.save(self.folder / ROWS, rows.astype(np.float32))
        np.save(self.folder / LABELS, labels)
        options = ImportOptions(labels=(str(self.folder / LABELS),))
        import_rows([self.folder / ROWS], self.folder / STORE, options=options)

    def __call__(self, name: str) -> None:
        """Run a job."""
        model = self.folder / f"{name}.model"
        if name == IMAGES:
            options = ExtractOptions(signature="fisher", cache=False)
            train(self.folder / IMAGES, model, extracting=options, run=Run(threads=1))
            predict(model, [str(self.folder / IMAGES / "test")], run=Run(threads=1))
            return
        if name == RANKING:
            compile_screening(np.load(self.folder / ROWS))
            return
        for threads in THREADS:
            method = make_method(METHODS, name)
            train(
                self.folder / STORE, model, method=method, run=Run(threads=threads, overwrite=True)
            )
