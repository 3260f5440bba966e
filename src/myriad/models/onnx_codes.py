"""Codes as part of an ONNX graph: what coding rows and decoding them comes to."""

from __future__ import annotations

import numpy as np
from scipy.linalg import hadamard

from myriad.codes import BilinearCode, ChosenCode, Code, HadamardCode, HadamardRotation, SignCode
from myriad.errors import InputError
from myriad.models.onnx_nodes import PREFIX, Graph


def add_code(graph: Graph, rows: str, code: Code) -> str:
    """Add what turns plain rows into decoded ones, of the codes that do not restore rows."""
    if isinstance(code, ChosenCode):
        return _choose(graph, rows, code)
    if isinstance(code, SignCode):
        return _round(graph, _choose(graph, rows, code))
    if isinstance(code, HadamardCode):
        return add_code(graph, _turn(graph, rows, code.turning), code.code)
    if isinstance(code, BilinearCode):
        return _round(graph, _project(graph, rows, code))
    raise InputError(f"A model of rows coded as {code.kind!r} cannot be exported.")


def _choose(graph: Graph, rows: str, code: SignCode | ChosenCode) -> str:
    chosen = graph.keep(code.chosen.astype(np.int64), "chosen")
    return graph.add("Gather", [rows, chosen], f"{PREFIX}chosen_values", axis=1)


def _round(graph: Graph, values: str) -> str:
    """Add +1 where a value is at least 0, else -1."""
    zero, one, less = (
        graph.keep(np.array(value, np.float32), name)
        for value, name in ((0, "zero"), (1, "one"), (-1, "minus_one"))
    )
    set_bits = graph.add("GreaterOrEqual", [values, zero], f"{PREFIX}set")
    return graph.add("Where", [set_bits, one, less], f"{PREFIX}signs")


def _project(graph: Graph, rows: str, code: BilinearCode) -> str:
    """Add the products of a row's matrix with both sides of a bilinear code."""
    d1, d2 = len(code.left), len(code.right)
    if d1 * d2 > code.dim:
        ends = graph.keep(np.array([0, 0, 0, d1 * d2 - code.dim], np.int64), "ends")
        rows = graph.add("Pad", [rows, ends], f"{PREFIX}padded")
    turned = _multiply(graph, rows, code.left.T, code.right, "bilinear")
    flat = graph.keep(np.array([-1, code.decoded_dim], np.int64), "flat_shape")
    return graph.add("Reshape", [turned, flat], f"{PREFIX}projected")


def _multiply(graph: Graph, rows: str, left: np.ndarray, right: np.ndarray, name: str) -> str:
    """Add ``L X R`` of the rows, each laid out as a matrix X."""
    shape = graph.keep(np.array([-1, left.shape[1], len(right)], np.int64), f"{name}_shape")
    x = graph.add("Reshape", [rows, shape], f"{PREFIX}{name}_matrices")
    x = graph.add("MatMul", [x, graph.keep(right, f"{name}_right")], f"{PREFIX}{name}_half")
    return graph.add("MatMul", [graph.keep(left, f"{name}_left"), x], f"{PREFIX}{name}_whole")


def _turn(graph: Graph, rows: str, turning: HadamardRotation) -> str:
    """Add the shift and the two rotations of a turn.

    A Walsh-Hadamard transform is a product with a smaller one from either side of a row's matrix.
    """
    dim, width = turning.dim, turning.flips.shape[1]
    x = graph.add("Sub", [rows, graph.keep(turning.centre, "centre")], f"{PREFIX}centred")
    high = 1 << (width.bit_length() // 2)
    sides = [np.array(hadamard(n) / np.sqrt(n), np.float32) for n in (high, max(1, width // high))]
    whole = graph.keep(np.array([-1, width], np.int64), "turned_shape")
    for number, first in enumerate((0, dim - width)):
        name = f"turn_{number}"
        pieces = [_cut(graph, x, start, stop, name) for start, stop in
                  ((0, first), (first, first + width), (first + width, dim))]  # fmt: skip
        flips = graph.keep(turning.flips[number].astype(np.float32), f"{name}_flips")
        flipped = graph.add("Mul", [str(pieces[1]), flips], f"{PREFIX}{name}_flipped")
        mixed = _multiply(graph, flipped, sides[0], sides[1], name)
        pieces[1] = graph.add("Reshape", [mixed, whole], f"{PREFIX}{name}_mixed")
        parts = [piece for piece in pieces if piece is not None]
        x = graph.add("Concat", parts, f"{PREFIX}{name}_row", axis=1)
    return x


def _cut(graph: Graph, rows: str, start: int, stop: int, name: str) -> str | None:
    """Add the features from one to another; None where there are none."""
    if start == stop:
        return None
    limits = [
        graph.keep(np.array([value], np.int64), f"{name}_{start}_{word}")
        for value, word in ((start, "start"), (stop, "stop"), (1, "axis"))
    ]
    return graph.add("Slice", [rows, *limits], f"{PREFIX}{name}_from_{start}")
