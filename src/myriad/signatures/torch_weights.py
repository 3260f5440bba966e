"""Arrays from a PyTorch file of the legacy format, read without PyTorch and without running it.

Such a file is a row of pickles (a magic number, a version, the writer's machine, the tensors'
names and forms, the keys of their storages) and then the storages themselves, each as a count and
raw little-endian values. A pickle may call any function it names, so the reader here knows four
names only, none of which does anything but keep its arguments.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_TYPES = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}


@dataclass(frozen=True)
class _Storage:
    """A run of values that tensors are cut from."""

    key: str
    dtype: np.dtype[Any]
    size: int


@dataclass(frozen=True)
class _Tensor:
    """Where a tensor lies in its storage; shape and strides in elements."""

    storage: _Storage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def cut(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of the tensor, after making sure that it lies within the storage."""
        numbers = (self.start, *self.shape, *self.strides)
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("a tensor of impossible form")
        if len(self.shape) != len(self.strides):
            raise ValueError("a tensor of impossible form")
        steps = zip(self.shape, self.strides, strict=True)
        last = self.start + sum((n - 1) * stride for n, stride in steps)
        if 0 not in self.shape and last >= len(values):
            raise ValueError("a tensor that ends beyond its storage")
        strides = [stride * values.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(values[self.start :], self.shape, strides)
        return view.copy()


class _Reader(pickle.Unpickler):
    """An unpickler that knows four names and calls nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        known: dict[tuple[str, str], Any] = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _keep_tensor,
            ("torch", "FloatStorage"): _TYPES["FloatStorage"],
            ("torch", "LongStorage"): _TYPES["LongStorage"],
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not allowed")
        return known[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        word, dtype, key, _, size, view = pid
        if word != "storage" or view is not None or not isinstance(dtype, np.dtype):
            raise pickle.UnpicklingError("it refers to something that is no storage")
        return _Storage(str(key), dtype, int(size))


def _keep_tensor(storage: Any, start: Any, shape: Any, strides: Any, *rest: Any) -> _Tensor:
    if not isinstance(storage, _Storage):
        raise pickle.UnpicklingError("it has a tensor without a storage")
    return _Tensor(storage, start, tuple(shape), tuple(strides))


def read_torch_weights(path: Path) -> dict[str, NDArray[Any]]:
    """Return the named arrays of a legacy PyTorch file of tensors; nothing in it is executed."""
    try:
        with path.open("rb") as stream:
            tensors = _read_tensors(stream)
            storages = _read_storages(stream, tensors)
        return {name: tensor.cut(storages[tensor.storage.key]) for name, tensor in tensors.items()}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # a damaged pickle raises nearly every kind of exception
        raise InputError(f"{path} is damaged or no legacy file of PyTorch: {error}.") from None


def _read_tensors(stream: BinaryIO) -> dict[str, _Tensor]:
    load: Callable[[], Any] = lambda: _Reader(stream).load()  # noqa: E731
    if load() != _MAGIC or load() != _PROTOCOL:
        raise ValueError("its first bytes are not those of such a file")
    load()  # the machine that wrote it; values are little-endian all the same
    tensors = load()
    if not isinstance(tensors, dict):
        raise ValueError("it holds no table of tensors")
    return {str(name): value for name, value in tensors.items() if isinstance(value, _Tensor)}


def _read_storages(stream: BinaryIO, tensors: dict[str, _Tensor]) -> dict[str, NDArray[Any]]:
    stated = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    found: dict[str, NDArray[Any]] = {}
    for key in _Reader(stream).load():
        storage = stated[key]
        if int.from_bytes(stream.read(8), "little") != storage.size:
            raise ValueError("a storage has not the size that is stated")
        content = stream.read(storage.size * storage.dtype.itemsize)
        found[key] = np.frombuffer(content, storage.dtype, count=storage.size)
    return found
