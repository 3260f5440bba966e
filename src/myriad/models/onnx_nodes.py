"""Nodes and constants that are added to an ONNX graph."""

from __future__ import annotations

from typing import Any

import numpy as np

PREFIX = "myriad_"
"""Before the names of all values that are added to a network, which has names of its own."""


class Graph:
    """Additions to the graph of a file."""

    def __init__(self, onnx: Any, file: Any) -> None:
        self.onnx, self.graph = onnx, file.graph

    def add(self, operator: str, inputs: list[str], *outputs: str, **settings: Any) -> str:
        """Add a node; return the name of its first output."""
        node = self.onnx.helper.make_node(operator, inputs, list(outputs), **settings)
        self.graph.node.append(node)
        return outputs[0]

    def keep(self, array: np.ndarray, name: str) -> str:
        """Add a constant."""
        constant = self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), PREFIX + name)
        self.graph.initializer.append(constant)
        return PREFIX + name
