"""Nodes and constants that are added to an ONNX graph, and the operations that codes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from myriad.arrays import Ints

PREFIX = "myriad_"
"""Prefix of the names of all values added to a network, so that they differ from its own."""


class Graph:
    """Additions to the graph of an ONNX file."""

    def __init__(self, onnx: Any, file: Any) -> None:
        self.onnx, self.graph = onnx, file.graph

    def add(self, operator: str, inputs: list[str], *outputs: str, **settings: Any) -> str:
        """Add a node; return the name of its first output.

        The node is named like that output: older releases of ONNX Runtime derive the names of fused
        nodes from the names of nodes and stop at two that are the same.
        """
        make = self.onnx.helper.make_node
        node = make(operator, inputs, list(outputs), name=outputs[0], **settings)
        self.graph.node.append(node)
        return outputs[0]

    def add_constant(self, array: np.ndarray, name: str) -> str:
        """Add a constant; return its name."""
        constant = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), PREFIX + name)
        self.graph.initializer.append(constant)
        return PREFIX + name


def add_selection(graph: Graph, rows: str, chosen: Ints) -> str:
    """Add the selection of some features of the rows."""
    index = graph.add_constant(chosen.astype(np.int64), "chosen")
    return graph.add("Gather", [rows, index], f"{PREFIX}chosen_values", axis=1)


def add_signs(graph: Graph, values: str) -> str:
    """Add +1 where a value is at least 0, else -1."""
    zero, one, less = (
        graph.add_constant(np.array(value, np.float32), name)
        for value, name in ((0, "zero"), (1, "one"), (-1, "minus_one"))
    )
    set_bits = graph.add("GreaterOrEqual", [values, zero], f"{PREFIX}set")
    return graph.add("Where", [set_bits, one, less], f"{PREFIX}signs")


def add_products(graph: Graph, rows: str, left: np.ndarray, right: np.ndarray, name: str) -> str:
    """Add ``L X R`` of the rows, each reshaped to a matrix X."""
    shape = graph.add_constant(np.array([-1, left.shape[1], len(right)], np.int64), f"{name}_shape")
    x = graph.add("Reshape", [rows, shape], f"{PREFIX}{name}_matrices")
    x = graph.add("MatMul", [x, graph.add_constant(right, f"{name}_right")], f"{PREFIX}{name}_half")
    return graph.add(
        "MatMul", [graph.add_constant(left, f"{name}_left"), x], f"{PREFIX}{name}_whole"
    )


def add_slice(graph: Graph, rows: str, start: int, stop: int, name: str) -> str | None:
    """Add the features from `start` to before `stop`; None where there are none."""
    if start == stop:
        return None
    limits = [
        graph.add_constant(np.array([value], np.int64), f"{name}_{start}_{word}")
        for value, word in ((start, "start"), (stop, "stop"), (1, "axis"))
    ]
    return graph.add("Slice", [rows, *limits], f"{PREFIX}{name}_from_{start}")
