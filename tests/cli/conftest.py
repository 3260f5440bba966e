"""Images and a model that the tests of several verbs share."""

import pytest

from myriad.images import choose_glyphs, write_glyphs
from tests.cli.calling import SMALL
from tests.commands import run_command


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "photos"
    write_glyphs(folder, choose_glyphs(12), images=15, seed=0, splits=(0.8, 0, 0.2))
    return folder


@pytest.fixture(scope="session")
def model(photos, tmp_path_factory):
    out = tmp_path_factory.mktemp("models") / "letters"
    assert run_command(["train", str(photos), "--out", str(out), *SMALL, "--quiet"]) == 0
    return out
