"""The versions, machine and caches of an installation, for bug reports."""

from __future__ import annotations

import os
import platform
import re
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import llvmlite.binding
from threadpoolctl import threadpool_info

from myriad.locks import locks_files
from myriad.parallel import start_method, thread_count
from myriad.pipelines.planning.machine import measurements_path, memory_bytes
from myriad.randomness import mix

DISTRIBUTION = "myriad-learn"
FEATURES = (
    *("sse4.2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vnni"),
    *("avx512bf16", "amx-bf16", "neon", "sve", "dotprod", "bf16"),
)
"""Features of processors that kernels, BLAS or networks make use of."""
EXTRAS = ("cluster", "serve")
"""Extras whose dependencies are listed where they are installed."""
VARIABLES = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_CACHE_DIR"),
    *("NUMBA_CPU_NAME", "NUMBA_DISABLE_JIT", "XDG_CACHE_HOME", "MYRIAD_DEBUG", "NO_COLOR"),
)
"""Environment variables that change what the command does. None of them is a secret."""


@dataclass(frozen=True)
class Installation:
    """Versions, machine, threads and caches.

    Attributes
    ----------
    versions : of myriad, Python and the dependencies by name; None for one that is not installed.
    machine : system, processor, its features, cores, memory.
    running : threads that are used, libraries with threads of their own, processes, file locks.
    caches : folder of the compiled kernels, how many there are, their bytes; measurements.
    environment : the variables of `VARIABLES` that are set.
    """

    versions: dict[str, str | None]
    machine: dict[str, Any]
    running: dict[str, Any]
    caches: dict[str, Any]
    environment: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``--json`` prints."""
        return asdict(self)


def describe_installation(threads: int | None = None) -> Installation:
    """Return the versions, machine, threads and caches of this installation."""
    return Installation(
        versions=_list_versions(),
        machine=_describe_machine(),
        running={
            "threads": thread_count(threads),
            "libraries": _list_libraries(),
            "processes": start_method(),
            "file_locks": locks_files(),
        },
        caches=describe_caches(),
        environment={name: os.environ[name] for name in VARIABLES if name in os.environ},
    )


def _list_versions() -> dict[str, str | None]:
    """Return the versions of myriad, Python, the dependencies and those of installed extras."""
    found: dict[str, str | None] = {
        "myriad": _find_version(DISTRIBUTION),
        "python": platform.python_version(),
    }
    for line in requires(DISTRIBUTION) or []:
        matched = re.match(r"[A-Za-z0-9._-]+", line)
        name = matched[0] if matched else line
        known = _find_version(name)
        extra = re.search(r"extra == ['\"](\w+)", line)
        if extra is None or (extra[1] in EXTRAS and known is not None):
            found[name] = known
    return found


def _find_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _describe_machine() -> dict[str, Any]:
    host = llvmlite.binding.get_host_cpu_features()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": f"{_name_processor()} ({llvmlite.binding.get_host_cpu_name()})",
        "features": [name for name in FEATURES if host.get(name)],
        "cores": os.cpu_count() or 1,
        "memory": memory_bytes(),
    }


def _name_processor() -> str:
    """Return the name of the processor; Linux keeps it in a file, which Python does not read."""
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _list_libraries() -> list[str]:
    """Return the libraries that have threads of their own: BLAS and OpenMP."""
    import numpy as np
    import scipy.linalg  # noqa: F401  (loads its BLAS, which need not be NumPy's)

    np.ones((2, 2)) @ np.ones((2, 2))
    found = [
        f"{one['internal_api']} {one.get('version') or ''}".strip()
        + (f" ({one['architecture']})" if one.get("architecture") else "")
        + f", {one['num_threads']} thread{'' if one['num_threads'] == 1 else 's'}"
        for one in threadpool_info()
    ]
    return sorted(set(found))


def describe_caches() -> dict[str, Any]:
    """Return where kernels and measurements are cached, and how many kernels there are."""
    package = Path(__file__).resolve().parent.parent
    folder = Path(mix.stats.cache_path or package)
    root = package if folder.is_relative_to(package) else folder.parent
    kernels = [path for path in root.rglob("*.nb[ci]") if "myriad" in str(path)]
    measured = measurements_path()
    return {
        "kernels": _shorten(root),
        "n_kernels": sum(path.suffix == ".nbc" for path in kernels),
        "bytes": sum(path.stat().st_size for path in kernels),
        "measurements": _shorten(measured) if measured.exists() else None,
        "package": _shorten(package),
        "executable": _shorten(Path(sys.executable)),
    }


def _shorten(path: Path) -> str:
    """Return a path with ``~`` for the home folder, whose name is often that of a person."""
    home = Path.home()
    return str(Path("~") / path.relative_to(home)) if path.is_relative_to(home) else str(path)
