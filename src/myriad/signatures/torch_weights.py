"""Arrays from a PyTorch file of the legacy format, read without PyTorch and without running it.

Such a file is a row of pickles (a magic number, a version, the writer's machine, the tensors'
names and forms, the keys of their storages) and then the storages themselves, each as a count and
raw little-endian values. A pickle is a program for a stack, which may call any function it names.
The few instructions that such files need are followed here one by one; they build numbers, texts,
tuples, lists and tables, and a call is but taken down. Only four names are known.
"""

from __future__ import annotations

import pickletools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError

_MAGIC, _PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
_TABLE, _TENSOR = "collections OrderedDict", "torch._utils _rebuild_tensor_v2"
_TYPES: dict[str, np.dtype[Any]] = {
    "torch FloatStorage": np.dtype("<f4"),
    "torch LongStorage": np.dtype("<i8"),
}
_VALUES = {
    *("BINUNICODE", "SHORT_BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1"),
    *("NONE", "NEWTRUE", "NEWFALSE"),
}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_SHORT = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass(frozen=True)
class _Name:
    """A name that stands in the file for something to call."""

    text: str


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
        whole = all(type(number) is int and number >= 0 for number in numbers)
        if not whole or len(self.shape) != len(self.strides):
            raise ValueError("a tensor of impossible form")
        steps = zip(self.shape, self.strides, strict=True)
        last = self.start + sum((n - 1) * stride for n, stride in steps)
        if 0 not in self.shape and last >= len(values):
            raise ValueError("a tensor that ends beyond its storage")
        strides = [stride * values.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(values[self.start :], self.shape, strides)
        return view.copy()


@dataclass
class _Machine:
    """The stack of a pickle, where its marks lie, and what it remembers by number."""

    stack: list[Any] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    memory: dict[int, Any] = field(default_factory=dict)

    def run(self, stream: BinaryIO) -> Any:
        """Follow the pickle that a stream is at; return what it builds."""
        for instruction, argument, _ in pickletools.genops(stream):
            if instruction.name == "STOP":
                return self.stack.pop()
            self.follow(instruction.name, argument)
        raise ValueError("a pickle without an end")

    def follow(self, word: str, argument: Any) -> None:
        """Follow one instruction."""
        stack = self.stack
        if word in _VALUES:
            stack.append(_CONSTANTS.get(word, argument))
        elif word in ("BINPUT", "LONG_BINPUT"):
            self.memory[argument] = stack[-1]
        elif word in ("BINGET", "LONG_BINGET"):
            stack.append(self.memory[argument])
        elif word in ("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE"):
            stack.append({"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}[word]())
        elif word == "MARK":
            self.marks.append(len(stack))
        elif word == "TUPLE":
            stack.append(tuple(self.take()))
        elif word in _SHORT:
            self.marks.append(len(stack) - _SHORT[word])
            stack.append(tuple(self.take()))
        elif word in ("SETITEM", "SETITEMS", "APPEND", "APPENDS"):
            if not word.endswith("S"):
                self.marks.append(len(stack) - (2 if word == "SETITEM" else 1))
            self.fill(self.take())
        elif word == "GLOBAL":
            stack.append(_know(argument))
        elif word == "REDUCE":
            arguments = stack.pop()
            stack.append(_take_down(stack.pop(), arguments))
        elif word == "BINPERSID":
            stack.append(_refer(stack.pop()))
        elif word == "BUILD":  # what PyTorch adds to its table of tensors is of no use here
            stack.pop()
        elif word != "PROTO":
            raise ValueError(f"it holds the instruction {word}, which is not allowed")

    def take(self) -> list[Any]:
        """Take all above the last mark off the stack."""
        start = self.marks.pop()
        taken = self.stack[start:]
        del self.stack[start:]
        return taken

    def fill(self, items: list[Any]) -> None:
        """Put items into the list or table on top of the stack."""
        place = self.stack[-1]
        if isinstance(place, dict):
            place.update(zip(items[::2], items[1::2], strict=True))
        else:
            place.extend(items)


def _know(name: str) -> _Name:
    if name not in (_TABLE, _TENSOR, *_TYPES):
        raise ValueError(f"it names {name.replace(' ', '.')}, which is not allowed")
    return _Name(name)


def _take_down(called: Any, arguments: Any) -> Any:
    """Return what a call of one of the known names stands for."""
    if called == _Name(_TABLE) and arguments == ():
        return {}
    if called == _Name(_TENSOR) and isinstance(arguments[0], _Storage):
        storage, start, shape, strides = arguments[:4]
        return _Tensor(storage, start, tuple(shape), tuple(strides))
    raise ValueError("it calls something that is not allowed")


def _refer(told: Any) -> _Storage:
    word, kind, key, _, size, view = told
    if word != "storage" or view is not None or type(size) is not int:
        raise ValueError("it refers to something that is no storage")
    dtype: np.dtype[Any] = _TYPES[kind.text]
    return _Storage(str(key), dtype, size)


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
    if _Machine().run(stream) != _MAGIC or _Machine().run(stream) != _PROTOCOL:
        raise ValueError("its first bytes are not those of such a file")
    _Machine().run(stream)  # the machine that wrote it; values are little-endian all the same
    tensors = _Machine().run(stream)
    if not isinstance(tensors, dict):
        raise ValueError("it holds no table of tensors")
    return {str(name): value for name, value in tensors.items() if isinstance(value, _Tensor)}


def _read_storages(stream: BinaryIO, tensors: dict[str, _Tensor]) -> dict[str, NDArray[Any]]:
    stated = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
    found: dict[str, NDArray[Any]] = {}
    for key in _Machine().run(stream):
        storage = stated[key]
        if int.from_bytes(stream.read(8), "little") != storage.size:
            raise ValueError("a storage has not the size that is stated")
        content = stream.read(storage.size * storage.dtype.itemsize)
        found[key] = np.frombuffer(content, storage.dtype, count=storage.size)
    return found
