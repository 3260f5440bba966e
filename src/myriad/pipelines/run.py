"""How a job runs: the options that jobs share, in one object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from myriad.progress import SILENT, Progress


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a job runs; its result depends on the seed alone.

    Attributes
    ----------
    seed : seed of all random draws.
    threads : number of threads on this machine; None for one per core.
    cluster : workers on other machines, see `open_cluster`, which must see all inputs and outputs;
        None to work on this machine.
    overwrite : whether existing output is replaced.
    resume : whether an interrupted run is resumed.
    progress : receives titles, counts and notes.
    """

    seed: int = 0
    threads: int | None = None
    cluster: Any = None
    overwrite: bool = False
    resume: bool = False
    progress: Progress = SILENT


DEFAULT_RUN = Run()
