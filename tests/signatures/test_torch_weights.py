"""The reader of PyTorch's legacy files: what it reads, and what it refuses to run."""

import pickle
import sys
import types
from collections import OrderedDict

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.signatures.torch_weights import read_torch_weights

MAGIC = 0x1950A86A20F9469CFC6C


class FloatStorage:
    pass


class LongStorage:
    pass


class Stored:
    """A storage on its way into the file."""

    def __init__(self, key, kind, values):
        self.key, self.kind, self.values = key, kind, values


class Tensor:
    """A tensor on its way into the file, written by a call of torch._utils._rebuild_tensor_v2."""

    def __init__(self, stored, start, shape, strides):
        self.arguments = (stored, start, shape, strides, False, OrderedDict())

    def __reduce__(self):
        return sys.modules["torch._utils"]._rebuild_tensor_v2, self.arguments


def _rebuild_tensor_v2(*arguments):
    raise AssertionError("called")


class Writer(pickle.Pickler):
    def persistent_id(self, obj):
        if isinstance(obj, Stored):
            return ("storage", obj.kind, obj.key, "cpu", len(obj.values), None)
        return None


@pytest.fixture
def torch(monkeypatch):
    """Pretend that PyTorch is there while a file is written."""
    package, inner = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for kind in (FloatStorage, LongStorage):
        monkeypatch.setattr(kind, "__module__", "torch")
        setattr(package, kind.__name__, kind)
    monkeypatch.setattr(_rebuild_tensor_v2, "__module__", "torch._utils")
    inner._rebuild_tensor_v2 = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", package)
    monkeypatch.setitem(sys.modules, "torch._utils", inner)


def write(path, content, storages, magic=MAGIC):
    with path.open("wb") as stream:
        for part in (magic, 1001, {"little_endian": True}, content, [s.key for s in storages]):
            Writer(stream, protocol=2).dump(part)
        for stored in storages:
            stream.write(len(stored.values).to_bytes(8, "little") + stored.values.tobytes())
    return path


def test_arrays_come_back_whatever_their_strides(torch, tmp_path):
    floats = Stored("17", FloatStorage, np.arange(24, dtype=np.float32))
    whole = Stored("4", LongStorage, np.array([7], np.int64))
    content = OrderedDict(
        plain=Tensor(floats, 0, (2, 12), (12, 1)),
        transposed=Tensor(floats, 4, (4, 3), (1, 6)),
        count=Tensor(whole, 0, (), ()),
    )
    found = read_torch_weights(write(tmp_path / "w.pth", content, [floats, whole]))
    np.testing.assert_array_equal(found["plain"], floats.values.reshape(2, 12))
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


def test_a_tensor_of_something_else_is_refused(torch, tmp_path):
    path = write(tmp_path / "w.pth", OrderedDict(a=Tensor("nothing", 0, (1,), (1,))), [])
    with pytest.raises(InputError, match="without a storage"):
        read_torch_weights(path)


@pytest.mark.parametrize(
    "form", [(20, (8,), (1,)), (0, (2, 13), (12, 1)), (-1, (2,), (1,)), (0, (2, 2), (-1, 1))]
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
