"""What one core of this machine does in a second: measured in a few seconds, then remembered."""

from __future__ import annotations

import os
import platform
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
    cores: int
    memory: int

    def __post_init__(self) -> None:
        rates = [getattr(self, field.name) for field in fields(self) if field.name != "joint"]
        if not isinstance(self.joint, dict) or set(self.joint) != set(JOINT):
            raise InputError("The rates of a machine need one for each joint objective.")
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
        "dense": lambda: _measure_training("ovr", beta=float("inf")),
        "sampled": lambda: _measure_training("ovr", beta=8.0),
        "joint": lambda: {name: _measure_training(name) for name in JOINT},
    }
    found: dict[str, Any] = {}
    with (
        progress.step("Measuring this machine", len(measures) + 1, "measures") as advance,
        threadpool_limits(limits=1),
    ):
        for name, measure in measures.items():
            found[name] = measure()
            advance(1)
        found["write"], found["read"] = _measure_disk()
        advance(1)
    return Machine(**found, cores=thread_count(None), memory=_memory())


def repeat(run: Callable[[], object], *, seconds: float = 0.3) -> float:
    """Return the shortest time of one of several runs, after one that warms up."""
    run()
    taken: list[float] = []
    while sum(taken) < seconds:
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return min(taken)


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


def _measure_training(objective: str, beta: float | None = None) -> float:
    """Return rows x classes x features a second, of rows drawn where few of them are."""
    random = np.random.default_rng(0)
    labels = random.integers(PROBE_CLASSES, size=PROBE_ROWS)
    X = random.standard_normal((PROBE_CLASSES, PROBE_DIM), dtype=np.float32)[labels]
    X += 2 * random.standard_normal(X.shape, dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rows = ArrayRows(X, labels, [str(c) for c in range(PROBE_CLASSES)])
    method = SGD(objective=objective, eta=0.3, beta=beta)
    trainer = make_trainer(method, [Setting(0.3, beta)], rows, PROBE_CLASSES, 1.0)
    with team(1) as crew:
        seconds = repeat(lambda: trainer.run_epoch(rows, seed=0, team=crew, advance=lambda n: None))
    drawn = 2 if objective == "ranking" else min(PROBE_CLASSES, 1 + (beta or PROBE_CLASSES))
    return PROBE_ROWS * drawn * PROBE_DIM / seconds


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
