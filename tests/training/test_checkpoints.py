"""Checkpoints: read for the training that wrote them, ignored for others."""

import json

import pytest
from safetensors import safe_open

from myriad.errors import InputError
from myriad.files import write_arrays
from myriad.training import Checkpoint


def test_a_checkpoint_of_another_training_is_not_resumed(tmp_path):
    Checkpoint(tmp_path / "c", {"seed": 1}).save({"epoch": 3}, {})
    assert Checkpoint(tmp_path / "c", {"seed": 2}).load() is None
    assert Checkpoint(tmp_path / "c", {"seed": 1}).load() == ({"epoch": 3}, {})
    (tmp_path / "c").write_bytes(b"x" * 100)
    with pytest.raises(InputError, match="damaged"):
        Checkpoint(tmp_path / "c", {"seed": 1}).load()


def test_a_checkpoint_of_an_earlier_format_is_ignored(tmp_path):
    key = json.dumps({"seed": 1}, sort_keys=True)
    write_arrays(tmp_path / "c", {}, {"key": key, "state": json.dumps({"setting": {"eta": 1.0}})})
    assert Checkpoint(tmp_path / "c", {"seed": 1}).load() is None
    Checkpoint(tmp_path / "c", {"seed": 1}).save({"epoch": 3}, {})
    with safe_open(tmp_path / "c", framework="np") as opened:
        assert '"format"' in opened.metadata()["key"]
