"""The inputs of the cases: images, models with their stores and rows, made once."""

import contextlib
from pathlib import Path

import pytest

from tests.robustness.jobs import make_ready
from tests.sharing import make_once


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the inputs of `tests.robustness.jobs`; tests must not change it."""

    def make(folder: Path) -> None:
        with contextlib.chdir(folder):
            make_ready(folder)

    return make_once(tmp_path_factory, "ready", make)
