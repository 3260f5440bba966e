"""Sessions of ONNX Runtime: what it may not do beside running a graph."""

import os
import subprocess
import sys

import pytest

from myriad.errors import InputError
from myriad.signatures.networks.sessions import import_onnxruntime, start_session
from tests.signatures.onnx_files import write_network

pytest.importorskip("onnxruntime")

OPEN = """
import sys
from pathlib import Path
from myriad.signatures.networks.sessions import open_session
open_session(Path(sys.argv[1]).read_bytes, "hash")
"""


def test_use_is_not_reported(tmp_path):
    write_network(tmp_path / "n.onnx")
    home = tmp_path / "home"
    home.mkdir()
    # ONNX Runtime reports nothing by itself where it sees that it runs in continuous integration.
    quiet = ("CI", "GITHUB_ACTIONS", "TF_BUILD", "XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY")
    env = {name: value for name, value in os.environ.items() if name not in quiet}
    env["HOME"] = str(home)
    command = [sys.executable, "-c", OPEN, str(tmp_path / "n.onnx")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert not [path for path in home.rglob("*") if "Microsoft" in path.parts]


def test_a_graph_that_cannot_be_run_is_an_error_and_prints_nothing(capfd):
    before, _, after = write_network().rpartition(b"embedding")  # of its outputs
    with pytest.raises(InputError, match="cannot be run"):
        start_session(before + b"embeddin\xff" + after)
    assert capfd.readouterr() == ("", "")


def test_an_import_that_is_interrupted_is_not_a_missing_package(monkeypatch):
    class Interrupted:
        def find_spec(self, name, path, target=None):
            # As pybind11 does when Ctrl-C arrives while an extension module is initialised.
            raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted()])
    with pytest.raises(KeyboardInterrupt):
        import_onnxruntime()


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match="pip install onnxruntime"):
        import_onnxruntime()
