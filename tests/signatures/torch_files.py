"""Legacy files of PyTorch, written without PyTorch."""

import pickle
import sys
import types
from collections import OrderedDict
from contextlib import contextmanager
from unittest import mock

import numpy as np

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


@contextmanager
def pretended_torch():
    """Pretend that PyTorch is there, as is necessary while a file is written."""
    package, inner = types.ModuleType("torch"), types.ModuleType("torch._utils")
    inner._rebuild_tensor_v2 = _rebuild_tensor_v2
    package.FloatStorage, package.LongStorage = FloatStorage, LongStorage
    with (
        mock.patch.object(FloatStorage, "__module__", "torch"),
        mock.patch.object(LongStorage, "__module__", "torch"),
        mock.patch.object(_rebuild_tensor_v2, "__module__", "torch._utils"),
        mock.patch.dict(sys.modules, {"torch": package, "torch._utils": inner}),
    ):
        yield


def write(path, content, storages, magic=MAGIC):
    """Write a file within `pretended_torch`; return its path."""
    with path.open("wb") as stream:
        for part in (magic, 1001, {"little_endian": True}, content, [s.key for s in storages]):
            Writer(stream, protocol=2).dump(part)
        for stored in storages:
            stream.write(len(stored.values).to_bytes(8, "little") + stored.values.tobytes())
    return path


def write_example(path):
    """Write a small file of tensors that share a storage, one of them transposed."""
    floats = Stored("17", FloatStorage, np.arange(24, dtype=np.float32))
    whole = Stored("4", LongStorage, np.array([7], np.int64))
    content = OrderedDict(
        plain=Tensor(floats, 0, (2, 12), (12, 1)),
        transposed=Tensor(floats, 4, (4, 3), (1, 6)),
        count=Tensor(whole, 0, (), ()),
    )
    with pretended_torch():
        return write(path, content, [floats, whole])
