"""What the cases start from: a folder of images and a model with its store, made once."""

import os
from pathlib import Path

import pytest

from tests.robustness.calling import QUICK, call
from tests.robustness.scenes import write_images


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with ``images``, ``model``, ``model.store`` and ``other`` (another model)."""
    folder = tmp_path_factory.mktemp("ready")
    write_images(folder / "images")
    write_images(folder / "more", classes=("ant", "bee", "dog"), first=4)
    before = Path.cwd()
    os.chdir(folder)
    try:
        for data, out in (("images", "model"), ("more", "other")):
            called = call("train", data, "--out", out, *QUICK.split())
            assert called.status == 0, called.err
    finally:
        os.chdir(before)
    return folder
