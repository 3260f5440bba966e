"""Arrays from a PyTorch file of the legacy format, read without PyTorch and without running it.

Such a file is a sequence of pickles (a magic number, a version, the writer's machine, the names and
shapes of the tensors, the keys of their storages) followed by the storages themselves, each as a
count and raw little-endian values. A pickle may call any function that it can look up, so nothing
is looked up by its name here: the four names that such files need stand for plain data and for one
function of this module, and any other name is refused before it is imported.
"""

from __future__ import annotations

import math
import pickle
import pickletools
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_MAX_MEMO = 1_000_000
"""Largest index in the memo of a pickle: the unpickler allocates memory for all below it."""


@dataclass(frozen=True)
class _Storage:
    """A sequence of values that tensors are views of."""

    key: str
    dtype: np.dtype[Any]
    size: int


@dataclass(frozen=True)
class _Tensor:
    """The position of a tensor in its storage; shape and strides in elements."""

    storage: _Storage
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def cut(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of the tensor; raises `ValueError` if it is not within the storage."""
        numbers = (self.start, *self.shape, *self.strides)
        whole = all(type(number) is int and number >= 0 for number in numbers)
        if not whole or len(self.shape) != len(self.strides):
            raise ValueError("a tensor of impossible form")
        steps = zip(self.shape, self.strides, strict=True)
        last = self.start + sum((n - 1) * stride for n, stride in steps)
        if 0 not in self.shape and last >= len(values):
            raise ValueError("a tensor that ends beyond its storage")
        if math.prod(self.shape) > len(values):  # strides of 0 would repeat a value
            raise ValueError("a tensor of more values than its storage")
        strides = [stride * values.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(values[self.start :], self.shape, strides)
        return view.copy()


class _TensorMaker:
    """Stands for PyTorch's rebuild function; unlike a function, it has nothing a file can set."""

    __slots__ = ()

    def __call__(
        self, storage: Any, start: Any, shape: Any, strides: Any, *ignored: Any
    ) -> _Tensor:
        """Return the tensor for a call in the file."""
        if not isinstance(storage, _Storage):
            raise ValueError("a tensor without a storage")
        return _Tensor(storage, start, tuple(shape), tuple(strides))


_NAMES = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _TensorMaker(),
    ("torch", "FloatStorage"): np.dtype("<f4"),
    ("torch", "LongStorage"): np.dtype("<i8"),
}
"""All names that a file may use, and their replacements."""


class _Unpickler(pickle.Unpickler):
    """Reads pickles of plain data and tensors; refuses every other name."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the replacement of a name, without importing anything."""
        if (module, name) not in _NAMES:
            raise ValueError(f"it names {module}.{name}, which is not allowed")
        return _NAMES[module, name]

    def persistent_load(self, pid: Any) -> _Storage:
        """Return the storage that a tensor refers to."""
        word, dtype, key, _, size, view = pid
        if word != "storage" or view is not None or type(size) is not int or size < 0:
            raise ValueError("it refers to something that is not a storage")
        if not isinstance(dtype, np.dtype):
            raise ValueError("a storage of an unknown type")
        return _Storage(str(key), dtype, size)


def read_torch_weights(path: Path) -> dict[str, NDArray[Any]]:
    """Return the named arrays of a legacy PyTorch file of tensors; nothing in it is executed.

    Raises `InputError` where the file cannot be read, is damaged or names anything else.
    """
    try:
        with path.open("rb") as stream:
            tensors = _read_tensors(stream)
            storages = _read_storages(stream, tensors)
        return {name: tensor.cut(storages[tensor.storage.key]) for name, tensor in tensors.items()}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from None
    except Exception as error:  # a damaged pickle raises nearly every kind of exception
        raise InputError(f"{path} is damaged or not a legacy PyTorch file: {error}.") from None


def _load(stream: BinaryIO) -> Any:
    """Return the content of the next pickle, after a check of its memo indices."""
    start = stream.tell()
    for operation, number, _ in pickletools.genops(stream):
        if operation.name.endswith("PUT") and int(number or 0) > _MAX_MEMO:
            raise ValueError("it numbers too many objects")
    stream.seek(start)
    return _Unpickler(stream).load()


def _read_tensors(stream: BinaryIO) -> dict[str, _Tensor]:
    if _load(stream) != _MAGIC or _load(stream) != _PROTOCOL:
        raise ValueError("its first bytes are not those of such a file")
    _load(stream)  # the writer's machine; values are little-endian on all of them
    tensors = _load(stream)
    if not isinstance(tensors, dict):
        raise ValueError("it holds no table of tensors")
    return {str(name): value for name, value in tensors.items() if isinstance(value, _Tensor)}


def _read_storages(stream: BinaryIO, tensors: dict[str, _Tensor]) -> dict[str, NDArray[Any]]:
    stated = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    found: dict[str, NDArray[Any]] = {}
    for key in _load(stream):
        storage = stated[key]
        if int.from_bytes(stream.read(8), "little") != storage.size:
            raise ValueError("a storage does not have the stated size")
        content = stream.read(storage.size * storage.dtype.itemsize)
        found[key] = np.frombuffer(content, storage.dtype, count=storage.size)
    return found
