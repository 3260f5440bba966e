"""Small ONNX files to test with."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def write_network(path=None, *, shape=(1, 3, 8, 8), kind=TensorProto.FLOAT, kernel=None, also=()):
    """Write a network: the mean of each channel, ``pooled``, times a matrix, ``embedding``."""
    kernel = np.eye(3, dtype=np.float32) if kernel is None else np.asarray(kernel, np.float32)
    axes = [1, 2] if shape[-1] == 3 else [2, 3]
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["pooled"], axes=axes, keepdims=0),
        helper.make_node("MatMul", ["pooled", "kernel"], ["embedding"]),
        helper.make_node("Identity", ["image"], ["copy"]),
    ]
    image = helper.make_tensor_value_info("image", kind, shape)
    result = helper.make_tensor_value_info("embedding", kind, [1, kernel.shape[1]])
    copied = helper.make_tensor_value_info("copy", kind, shape)
    kept = [numpy_helper.from_array(kernel, "kernel")]
    graph = helper.make_graph(nodes, "small", [image, *also], [result, copied], kept)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    if path is not None:
        onnx.save(model, path)
    return model.SerializeToString()
