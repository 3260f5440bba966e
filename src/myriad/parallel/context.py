"""What learning a code or a signature needs beside its data and options, in one object."""

from __future__ import annotations

from dataclasses import dataclass

from myriad.parallel.workers import Workers
from myriad.progress import SILENT, Progress


@dataclass(frozen=True)
class LearningContext:
    """How and where a code or a signature is learned; what is learned depends on the seed alone.

    Methods are trained with a `training.Context`: it has no seed, which is an option of the method,
    but a checkpoint.

    Attributes
    ----------
    seed : the number that all random draws follow.
    threads : number of threads on this machine; None for one a core.
    workers : workers on other machines or in other processes, with a folder that all of them see;
        None to work in this process.
    progress : where progress is reported.
    """

    seed: int = 0
    threads: int | None = None
    workers: Workers | None = None
    progress: Progress = SILENT
