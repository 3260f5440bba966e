"""Before any test: a cache of compiled kernels for all of them. And the order of the tests.

The tests of a file run in one worker process, but for those of files that take long: these run
first, and each of their tests in a worker that is free, so that all workers end at the same time.
"""

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from xdist.scheduler import LoadScopeScheduling

# Outside the sources, which a container may not be able to write. A kernel is compiled again when
# the sources that it depends on have changed (`myriad._jit.hash_sources`), and no other one is.
CACHES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
os.environ.setdefault("NUMBA_CACHE_DIR", str(CACHES / "myriad-tests" / "kernels"))
# The workers of a run share the cores, and threads of OpenBLAS would wait for one another busily.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ["MYRIAD_CACHE_DIR"] = ""  # rows of earlier runs would hide what describes images

COMPILING = (
    "tests/robustness/test_interruption.py",
    "tests/estimators/test_topk_svm.py",
    "tests/estimators/test_linear_classifier.py",
)
"""Files that are begun first, each in one worker. They compile most of the kernels, each of them
others, so that two workers do not compile the same ones at the same time."""
LONG = (
    "tests/benchmarks/test_small.py",
    "tests/robustness/test_renames.py",
    "tests/robustness/test_survival.py",
    "tests/docs/test_commands.py",
    "tests/robustness/test_faults.py",
    "tests/recipes/test_quick.py",
    "tests/docs/test_notebook.py",
)
"""Files that take long, in the order in which they are begun. Their tests have cheap fixtures, or
such that `tests.sharing.make_once` shares between workers."""


class LongestFirst(LoadScopeScheduling):
    """Gives workers one test of a long file, or all the tests of another file."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.split("::", 1)[0]
        return nodeid if file in LONG else file


@pytest.fixture(scope="session", autouse=True)
def not_compiling_ahead() -> Iterator[None]:
    """Compile kernels in no further process: all cores are busy with tests."""
    with mock.patch("myriad.pipelines.compiling._start", return_value=None):
        yield


@pytest.fixture(scope="session", autouse=True)
def reading_weights_once() -> Iterator[None]:
    """Read the weights of each network once: every command that chooses a signature opens two."""
    from myriad.signatures.networks import efficientnet

    once = functools.cache(efficientnet.read_weights)
    with mock.patch.object(efficientnet, "read_weights", once):
        yield


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongestFirst:
    return LongestFirst(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that compile, then the long ones; the others follow in their order."""
    ranks = {file: rank for rank, file in enumerate((*COMPILING, *LONG))}
    items.sort(key=lambda item: ranks.get(item.nodeid.split("::", 1)[0], len(ranks)))
