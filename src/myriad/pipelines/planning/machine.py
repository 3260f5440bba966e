"""The speed of one core of this machine: measured in a few seconds, then cached."""

from __future__ import annotations

import math
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
from myriad.parallel import thread_count
from myriad.progress import SILENT, Progress

DISK_BYTES = 128 << 20


@dataclass(frozen=True)
class Machine:
    """Rates of one core, in units per second, and the size of the machine.

    Attributes
    ----------
    sgemm : multiply-adds of a product of float32 matrices.
    decode : features decoded from product codes.
    read, write : bytes of the disk that holds temporary files.
    cores : usable ones.
    memory : bytes.
    """

    sgemm: float
    decode: float
    read: float
    write: float
    cores: int
    memory: int

    def __post_init__(self) -> None:
        if not all(is_rate(getattr(self, field.name)) for field in fields(self)):
            raise InputError("The rates of a machine must be positive numbers.")


def is_rate(value: object) -> bool:
    """Return whether a value is a positive number."""
    return isinstance(value, int | float) and type(value) is not bool and 0 < value < math.inf


def load_or_measure_machine(*, again: bool = False, progress: Progress = SILENT) -> Machine:
    """Return the speed of this machine: cached, or measured now if there is none or if `again`."""
    kept = None if again else read_cached("rates")
    if kept is not None:
        try:
            return Machine(**kept)
        except (InputError, TypeError):
            pass  # a damaged cache is measured again
    machine = measure_machine(progress=progress)
    write_cached({"rates": asdict(machine)}, progress=progress)
    return machine


def read_cached(name: str) -> Any:
    """Return a cached measurement of this machine by name; None if there is none."""
    return _read_cache().get(name)


def write_cached(notes: dict[str, Any], *, more: bool = False, progress: Progress = SILENT) -> None:
    """Cache measurements of this machine; with `more`, others in the cache are kept."""
    path = measurements_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = (_read_cache() if more else {}) | notes
        write_json(path, {"key": _key(), "notes": kept})
    except OSError:
        progress.note(f"{path.parent} cannot be written: the benchmark is not cached.")


def _read_cache() -> dict[str, Any]:
    """Return the cached measurements of this machine with these versions."""
    path = measurements_path()
    try:
        kept = read_json(path) if path.exists() else {}
    except InputError:
        return {}
    notes = kept.get("notes") if kept.get("key") == _key() else None
    return notes if isinstance(notes, dict) else {}


def _key() -> dict[str, Any]:
    return {
        "machine": platform.node(),
        "processor": platform.processor() or platform.machine(),
        "cores": thread_count(None),
        "versions": {name: version(name) for name in ("myriad-learn", "numpy", "numba")},
    }


def measure_machine(*, progress: Progress = SILENT) -> Machine:
    """Measure this machine."""
    with (
        progress.step("Benchmarking this machine", 3, "benchmarks") as advance,
        threadpool_limits(limits=1),
    ):
        sgemm = _measure_product()
        advance(1)
        decode = _measure_code()
        advance(1)
        write, read = _measure_disk()
        advance(1)
    return Machine(sgemm, decode, read, write, cores=thread_count(None), memory=memory_bytes())


def repeat(run: Callable[[], object], *, seconds: float = 0.3) -> float:
    """Return the time of a run, the median of several, after one that warms up.

    The minimum would be too optimistic: other programs take some time on every machine.
    """
    run()
    taken: list[float] = []
    while sum(taken) < seconds:
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def _measure_product() -> float:
    X, W = (np.ones((n, 2048), np.float32) for n in (128, 256))
    return 128 * 256 * 2048 / repeat(lambda: X @ W.T)


def _measure_code() -> float:
    dim = 16_384
    books = np.random.default_rng(0).standard_normal((dim // 8, 256, 8), dtype=np.float32)
    code = ProductCode(books, dim)
    rows = np.random.default_rng(1).standard_normal((16, dim), dtype=np.float32)
    codes = code.encode(rows)
    return rows.size / repeat(lambda: code.decode(codes))


def _measure_disk() -> tuple[float, float]:
    """Return bytes per second written to the disk and read from it, the cache emptied between."""
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


def memory_bytes() -> int:
    """Return the bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def measurements_path() -> Path:
    """Return the file that keeps the measurements."""
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "myriad" / "machine.json"
