"""Runs that are killed just before or just after each rename.

Every file is written under a temporary name and renamed, so these are all the states that a killed
run can leave, apart from temporary files. The state after a rename is the one before the next, so
one of the two is tried in each test; the campaign tries both.
"""

import os
import shutil
from pathlib import Path

import pytest

from myriad.models import load_model
from myriad.store import Store
from tests.robustness.calling import QUICK, call
from tests.robustness.killing import reproducible_bytes

TRAIN = f"train images --out model {QUICK}".split()


class Killed(BaseException):
    """The end of a run without a chance to clean up."""


def train_until(rename, *more, after, monkeypatch):
    """Train until the rename of this number, which is still done if `after`."""
    count = 0
    plain = {name: getattr(os, name) for name in ("replace", "rename")}

    def kill_at_last(name):
        def move(source, target, **options):
            nonlocal count
            count += 1
            if count == rename and not after:
                raise Killed
            plain[name](source, target, **options)
            if count == rename:
                raise Killed

        return move

    with monkeypatch.context() as patch:
        for name in plain:
            patch.setattr(os, name, kill_at_last(name))
        patch.setattr(Path, "unlink", lambda path, missing_ok=False: None)
        try:
            assert call(*TRAIN, *more).status == 0
        except Killed:
            return True
    return False


@pytest.fixture
def here(tmp_path, ready, monkeypatch):
    """Return a folder with images in which the commands run."""
    shutil.copytree(ready / "images", tmp_path / "images")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_new_model(here, ready, monkeypatch):
    assert call(*TRAIN).status == 0
    expected = reproducible_bytes(here)
    for rename in range(1, 100):
        shutil.rmtree("model")
        shutil.rmtree("model.store")
        if not train_until(rename, after=False, monkeypatch=monkeypatch):
            break
        again = call(*TRAIN)
        assert again.status == 2
        assert "exists. Use --resume to resume it, --overwrite" in again.err
        called = call(*TRAIN, "--resume")
        assert called.status == 0, (rename, called.err)
        assert reproducible_bytes(here) == expected, rename
        assert not list(here.rglob(".*")), rename
    assert rename >= 10  # recipe, plan, shard, index, store; arrays, config, card, evidence; report


@pytest.mark.parametrize(
    ("after", "how"), [(False, "--resume"), (True, "--overwrite")], ids=["before", "after"]
)
def test_model_to_be_replaced(here, ready, monkeypatch, after, how):
    """There is a whole store and a whole model at every moment, the old or the new one."""
    assert call(*TRAIN, "--overwrite").status == 0
    expected = reproducible_bytes(here)
    torn = 0
    for rename in range(1, 100):
        for name in ("model", "model.store"):
            shutil.rmtree(name)
            shutil.copytree(ready / f"{name.replace('model', 'other')}", name)
        if not train_until(rename, "--overwrite", after=after, monkeypatch=monkeypatch):
            break
        try:
            load_model(Path("model"))
            Store.open("model.store")
        except ValueError:
            torn += 1
        called = call(*TRAIN, how)
        assert called.status == 0, (rename, called.err)
        assert reproducible_bytes(here) == expected, rename
        assert not list(here.glob(".*")), rename
        assert not list(here.glob("*/.*")), rename
    assert rename >= 12
    assert torn <= 2  # between the two renames of a swap, in microseconds
