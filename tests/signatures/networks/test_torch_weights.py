"""The reader of PyTorch's legacy files: what it reads, and what it refuses to run."""

import pickle
from collections import OrderedDict

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.signatures.networks.torch_weights import read_torch_weights
from tests.signatures.torch_files import (
    MAGIC,
    FloatStorage,
    Stored,
    Tensor,
    pretended_torch,
    write,
    write_example,
)


@pytest.fixture
def torch():
    """Pretend that PyTorch is there while a file is written."""
    with pretended_torch():
        yield


def test_arrays_come_back_whatever_their_strides(tmp_path):
    found = read_torch_weights(write_example(tmp_path / "w.pth"))
    np.testing.assert_array_equal(found["plain"], np.arange(24).reshape(2, 12))
    np.testing.assert_array_equal(found["transposed"], 4 + np.arange(4)[:, None] + 6 * np.arange(3))
    assert found["count"] == 7
    assert found["plain"].dtype == np.float32


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_nothing_in_the_file_is_run(torch, tmp_path):
    path = write(tmp_path / "w.pth", {"a": Bomb(tmp_path / "ruin")}, [])
    with pytest.raises(InputError, match=r"w\.pth.*open.*not allowed"):
        read_torch_weights(path)
    assert not (tmp_path / "ruin").exists()


def by_reduce(path):
    """Return a pickle that calls ``os.system``, as an attacker would write it."""
    return b"\x80\x02cos\nsystem\nX" + len(path).to_bytes(4, "little") + path + b"\x85R."


def by_inst(path):
    return b"(X" + len(path).to_bytes(4, "little") + path + b"ios\nsystem\n."


def by_stack_global(path):
    return b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c" + bytes([len(path)]) + path + b"\x85R."


def by_attribute(path):
    """Reach for something else through an attribute of a name that is allowed."""
    name = b"OrderedDict.__init__.__globals__"
    return b"\x80\x04\x8c\x0bcollections\x8c" + bytes([len(name)]) + name + b"\x93)R."


@pytest.mark.parametrize("attack", [by_reduce, by_inst, by_stack_global, by_attribute])
@pytest.mark.parametrize("position", [0, 3])
def test_a_call_of_the_shell_is_refused(tmp_path, attack, position):
    """Whichever of the pickles of a file it is in, and however it is written."""
    ruin = tmp_path / "ruin"
    command = f"touch {ruin}"[:200].encode()
    before = [pickle.dumps(value, 2) for value in (MAGIC, 1001, {})][:position]
    path = tmp_path / "w.pth"
    path.write_bytes(b"".join([*before, attack(command)]))
    with pytest.raises(InputError, match="not allowed"):
        read_torch_weights(path)
    assert not ruin.exists()


@pytest.mark.parametrize("state", [{"a": 1}, (None, {"__defaults__": (1,)})])
@pytest.mark.parametrize("name", [b"torch._utils\n_rebuild_tensor_v2", b"collections\nOrderedDict"])
def test_a_file_cannot_change_what_its_names_stand_for(tmp_path, name, state):
    build = b"c" + name + b"\n" + pickle.dumps(state, 2)[2:-1] + b"b."
    path = tmp_path / "w.pth"
    path.write_bytes(pickle.dumps(MAGIC, 2) + pickle.dumps(1001, 2) + b"\x80\x02" + build)
    with pytest.raises(InputError, match=r"attribute|item assignment"):
        read_torch_weights(path)


def test_a_tensor_of_something_else_is_refused(torch, tmp_path):
    path = write(tmp_path / "w.pth", OrderedDict(a=Tensor("nothing", 0, (1,), (1,))), [])
    with pytest.raises(InputError, match="without a storage"):
        read_torch_weights(path)


@pytest.mark.parametrize(
    "form",
    [
        (20, (8,), (1,)),
        (0, (2, 13), (12, 1)),
        (-1, (2,), (1,)),
        (0, (2, 2), (-1, 1)),
        (0, (1000,), (0,)),
    ],
)
def test_a_tensor_beyond_its_storage_is_refused(torch, tmp_path, form):
    stored = Stored("1", FloatStorage, np.zeros(24, np.float32))
    path = write(tmp_path / "w.pth", OrderedDict(a=Tensor(stored, *form)), [stored])
    with pytest.raises(InputError, match="tensor"):
        read_torch_weights(path)


def test_other_files_are_refused(torch, tmp_path):
    stored = Stored("1", FloatStorage, np.zeros(24, np.float32))
    content = OrderedDict(a=Tensor(stored, 0, (24,), (1,)))
    path = write(tmp_path / "w.pth", content, [stored], magic=1)
    with pytest.raises(InputError, match="first bytes"):
        read_torch_weights(path)
    path = write(tmp_path / "w.pth", content, [stored])
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match="damaged"):
        read_torch_weights(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_torch_weights(tmp_path / "none.pth")
