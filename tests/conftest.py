"""Before any test: the cache of compiled kernels is keyed to the kernels' sources.

Numba looks only at the file of a kernel to tell whether its cached code is stale, not at the files
of the kernels it calls. A cache folder named after all of them never holds stale code.

The tests of a file run in one worker process, but for those of files that take long: these run
first, and each of their tests in a worker that is free, so that all workers end at the same time.
"""

import hashlib
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

SOURCES = Path(__file__).resolve().parent.parent / "src" / "myriad"
WEEK = 7 * 24 * 3600


def hash_kernels() -> str:
    digest = hashlib.sha256()
    for path in sorted(SOURCES.rglob("*.py")):
        content = path.read_bytes()
        if b"_jit" in content:
            digest.update(path.relative_to(SOURCES).as_posix().encode() + b"\0" + content)
    return digest.hexdigest()[:16]


def choose_cache() -> Path:
    """Return the cache's folder, after removing those of sources that nobody tested for a week."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    name = f"kernels-{hash_kernels()}"
    if given:  # a worker process is given the folder that its parent chose
        return Path(given) if Path(given).name == name else Path(given) / name
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "myriad-tests"
    for old in caches.glob("kernels-*"):
        if old.name != name and time.time() - old.stat().st_mtime > WEEK:
            shutil.rmtree(old, ignore_errors=True)
    return caches / name


cache = choose_cache()
cache.mkdir(parents=True, exist_ok=True)
os.utime(cache)
os.environ["NUMBA_CACHE_DIR"] = str(cache)
os.environ["MYRIAD_CACHE_DIR"] = ""  # rows of earlier runs would hide what describes images


LONG = (
    "tests/robustness/test_interruption.py",
    "tests/benchmarks/test_small.py",
    "tests/docs/test_commands.py",
    "tests/robustness/test_renames.py",
    "tests/robustness/test_faults.py",
    "tests/recipes/test_quick.py",
    "tests/docs/test_notebook.py",
    "tests/robustness/test_survival.py",
)
"""Files that take long, in the order in which they are begun. Their tests have cheap fixtures, or
such that `tests.sharing.make_once` shares between workers."""
WHOLE = ("tests/robustness/test_interruption.py",)
"""Long files with a costly fixture of their own, which stay in one worker."""


class LongestFirst(LoadScopeScheduling):
    """Gives workers one test of a long file, or all the tests of another file."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return nodeid if file in LONG and file not in WHOLE else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst:
    return LongestFirst(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long files; the others follow in their order."""
    ranks = {file: rank for rank, file in enumerate(LONG)}
    items.sort(key=lambda item: ranks.get(item.nodeid.split("::", 1)[0], len(LONG)))
