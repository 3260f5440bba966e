"""Files that the user may not read or write: a sentence that says so, and nothing changed.

Root may read and write everything, so the commands run as another user, in forked processes.
"""

import contextlib
import os
import tempfile
from pathlib import Path

import pytest

from tests.robustness.calling import call
from tests.robustness.fault_runs import run_in_fork
from tests.robustness.inputs import snapshot
from tests.robustness.jobs import DESCRIBE, TRAIN, Job

NOBODY = 65534
pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becomes another user, as root may"
)
CLOSED = {
    "predict model images": "model",
    "evaluate model images": "model",
    "export model --out open/m.onnx": "model",
    "export model --out open/m --weights int8": "model",
    "merge model ant bee --into insect --out open/m": "model",
    f"train model.store --out open/m {TRAIN}": "model.store",
    "compress rows.store --codes scalar --out open/c": "rows.store",
    "import rows.npy --labels labels.npy --out open/s": "rows.npy",
    f"extract images --out open/s {DESCRIBE}": "images",
}
"""Commands, and the input that they may not read."""
FIXED = (
    f"extract images --out new.store {DESCRIBE}",
    f"train model.store --out new {TRAIN}",
    "import rows.npy --labels labels.npy --out new.store",
    "compress rows.store --codes scalar --out new",
    "predict model images --csv new.csv",
    "predict model images --sort-into new",
    "export model --out new --weights int8",
    "check images --out open/c --fix new.csv",
    "forget model ant --out new",
    "report model",
    "report model.store --out new.html",
    "check model.store --out new",
    "demo --out new",
)
"""Commands whose output is in a folder that they may not write."""


@pytest.fixture
def folder(ready):
    """A folder with inputs that everybody may read, and a folder ``open`` that all may write."""
    needs = ("images", "model", "model.store", "rows.store", "rows.npy", "labels.npy")
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        Job("inputs", "", needs).copy_inputs(ready, Path(name))
        for path in (Path(name), *Path(name).rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        Path(name, "open").mkdir()
        Path(name, "open").chmod(0o777)
        yield Path(name)


def call_as_nobody(command, output):
    def run():
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return call(*command.split(), "--threads", "1"), True

    output.mkdir(exist_ok=True)
    output.chmod(0o777)
    called, _ = run_in_fork(run, output)
    return called


def check_refusal(called):
    assert called.status in (1, 2), called.err
    assert "ermission" in called.err or "not readable" in called.err, called.err
    assert "bug in myriad" not in called.err
    assert "Traceback" not in called.err


@pytest.mark.parametrize("command", CLOSED)
def test_inputs_that_may_not_be_read(command, folder):
    before = snapshot(folder)
    os.chmod(CLOSED[command], 0o700 if os.path.isdir(CLOSED[command]) else 0o600)
    with tempfile.TemporaryDirectory() as output:
        os.chmod(output, 0o755)
        check_refusal(call_as_nobody(command, Path(output, "o")))
    kept = {name: content for name, content in snapshot(folder).items() if name in before}
    assert kept == before


@pytest.mark.parametrize("command", FIXED)
def test_folders_that_may_not_be_written(command, folder):
    before = snapshot(folder)
    with tempfile.TemporaryDirectory() as output:
        os.chmod(output, 0o755)
        check_refusal(call_as_nobody(command, Path(output, "o")))
    assert snapshot(folder) == before
