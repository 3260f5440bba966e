"""What one core of this machine does in a second: measured in a few seconds, then remembered."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from myriad.codes.product import ProductCode
from myriad.errors import InputError
from myriad.files import read_json, write_json
from myriad.parallel import team, thread_count
from myriad.progress import SILENT, Progress
from myriad.store import ArrayRows
from myriad.training import SGD
from myriad.training.fitting import make_trainer
from myriad.training.settings import Setting

PROBE_ROWS, PROBE_CLASSES, PROBE_DIM = 1024, 256, 2048
"""The problem that training is timed on; costs grow with each of the three."""
DISK_BYTES = 128 << 20
ALONE = 0.7
"""What a second core would add to the first, where there is none."""
JOINT = ("multiclass", "ranking", "warp", "softmax")


@dataclass(frozen=True)
class Machine:
    """Rates of one core, and what the machine has.

    Attributes
    ----------
    sgemm : multiply-adds of a product of float32 matrices.
    decode : features decoded from product codes.
    read, write : bytes of the disk that holds temporary files.
    dense : rows x classes x features of an epoch of one-vs-rest that scores every row.
    sampled : features of rows that were drawn for a class, where only those are scored.
    joint : rows x classes x features of an epoch, by objective; of two classes for ``ranking``.
    gains : what a second core adds to the first, as a part of it: ``dense``, ``sampled`` and each
        joint objective.
    cores : usable ones.
    memory : bytes.
    """

    sgemm: float
    decode: float
    read: float
    write: float
    dense: float
    sampled: float
    joint: dict[str, float]
    gains: dict[str, float]
    cores: int
    memory: int

    def __post_init__(self) -> None:
        tables = {"joint": set(JOINT), "gains": {"dense", "sampled", *JOINT}}
        rates = [getattr(self, field.name) for field in fields(self) if field.name not in tables]
        for name, kinds in tables.items():
            table = getattr(self, name)
            if not isinstance(table, dict) or set(table) != kinds:
                raise InputError(f"The rates of a machine need {name} of all objectives.")
            rates += [rate for rate in table.values() if name != "gains" or rate]
        if not all(type(rate) in (int, float) and rate > 0 for rate in rates):
            raise InputError("The rates of a machine must be positive numbers.")


def know_machine(*, again: bool = False, progress: Progress = SILENT) -> Machine:
    """Return what this machine does, as it was measured last unless `again`."""
    path = _remembered()
    key = {
        "machine": platform.node(),
        "processor": platform.processor() or platform.machine(),
        "cores": thread_count(None),
        "versions": {name: version(name) for name in ("myriad-learn", "numpy", "numba")},
    }
    if not again and path.exists():
        try:
            kept = read_json(path)
            if kept.get("key") == key:
                return Machine(**kept["rates"])
        except (InputError, TypeError, KeyError):
            pass  # whatever is wrong with it, it is measured anew
    machine = measure_machine(progress=progress)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, {"key": key, "rates": asdict(machine)})
    except OSError:
        progress.note(f"{path.parent} cannot be written: the measures are not remembered.")
    return machine


def measure_machine(*, progress: Progress = SILENT) -> Machine:
    """Measure this machine."""
    measures: dict[str, Callable[[], Any]] = {
        "sgemm": _measure_product,
        "decode": _measure_code,
    }
    kinds: dict[str, tuple[str, float | None]] = {
        "dense": ("ovr", float("inf")),
        "sampled": ("ovr", 8.0),
        **{name: (name, None) for name in JOINT},
    }
    found: dict[str, Any] = {"joint": {}, "gains": {}}
    n_measures = len(measures) + len(kinds) + 1
    with (
        progress.step("Measuring this machine", n_measures, "measures") as advance,
        threadpool_limits(limits=1),
    ):
        for name, measure in measures.items():
            found[name] = measure()
            advance(1)
        for name, probe in kinds.items():
            rate, gain = _measure_training(*probe)
            (found["joint"] if name in JOINT else found)[name] = rate
            found["gains"][name] = gain
            advance(1)
        found["write"], found["read"] = _measure_disk()
        advance(1)
    return Machine(**found, cores=thread_count(None), memory=_memory())


def repeat(run: Callable[[], object], *, seconds: float = 0.3) -> float:
    """Return the time of a run, the median of several, after one that warms up.

    The shortest would be the time of a machine on which nothing else ever happens.
    """
    return statistics.median(time_runs(run, seconds))


def time_runs(run: Callable[[], object], seconds: float = 0.3) -> list[float]:
    """Return the times of several runs, after one that warms up."""
    run()
    taken: list[float] = []
    while sum(taken) < seconds:
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return taken


def _measure_product() -> float:
    X, W = (np.ones((n, PROBE_DIM), np.float32) for n in (128, PROBE_CLASSES))
    return 128 * PROBE_CLASSES * PROBE_DIM / repeat(lambda: X @ W.T)


def _measure_code() -> float:
    dim = 16_384
    books = np.random.default_rng(0).standard_normal((dim // 8, 256, 8), dtype=np.float32)
    code = ProductCode(books, dim)
    rows = np.random.default_rng(1).standard_normal((16, dim), dtype=np.float32)
    codes = code.encode(rows)
    return rows.size / repeat(lambda: code.decode(codes))


def _measure_training(objective: str, beta: float | None) -> tuple[float, float]:
    """Return rows x classes x features a second of one core, and what a second one adds to it.

    Where few rows are drawn for a class, only those are counted.
    """
    random = np.random.default_rng(0)
    labels = random.integers(PROBE_CLASSES, size=PROBE_ROWS)
    X = random.standard_normal((PROBE_CLASSES, PROBE_DIM), dtype=np.float32)[labels]
    X += 2 * random.standard_normal(X.shape, dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows = ArrayRows(X, labels, [str(c) for c in range(PROBE_CLASSES)])
    method = SGD(objective=objective, eta=0.3, beta=beta)
    trainer = make_trainer(method, [Setting(0.3, beta)], rows, PROBE_CLASSES, 1.0)

    def run(threads: int) -> list[float]:
        with team(threads) as crew:
            return time_runs(
                lambda: trainer.run_epoch(rows, seed=0, team=crew, advance=lambda n: None)
            )

    alone = run(1)
    seconds, gain = statistics.median(alone), ALONE
    if thread_count(None) > 1:  # the shortest times: the other core may have been busy
        gain = min(1.0, max(0.0, min(alone) / min(run(2)) - 1))
    drawn = 2 if objective == "ranking" else min(PROBE_CLASSES, 1 + (beta or PROBE_CLASSES))
    return PROBE_ROWS * drawn * PROBE_DIM / seconds, gain


def _measure_disk() -> tuple[float, float]:
    """Return bytes a second written to the disk and read from it, the cache emptied between."""
    block = os.urandom(1 << 20)
    with tempfile.TemporaryFile() as stream:
        began = time.perf_counter()
        for _ in range(DISK_BYTES >> 20):
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())
        written = time.perf_counter() - began
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        stream.seek(0)
        began = time.perf_counter()
        while stream.read(1 << 20):
            pass
        return DISK_BYTES / written, DISK_BYTES / (time.perf_counter() - began)


def _memory() -> int:
    """Return the bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def _remembered() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "myriad" / "machine.json"
