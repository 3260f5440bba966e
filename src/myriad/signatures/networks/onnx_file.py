"""The user's own network: an ONNX file, and how images are prepared for it."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.signatures.networks.backbone import MAX_SIDE, Backbone
from myriad.signatures.networks.sessions import brief, import_onnx, start_session
from myriad.signatures.own_options import OnnxOptions

MAX_BYTES = 2**31 - 1
SIZE = 224
NORMS = {
    "imagenet": ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "clip": (
        (122.7709383, 116.7460125, 104.09373615),
        (68.5005327, 66.6321579, 70.32316305),
    ),
}
"""Mean and deviation of the pixels that most published networks were trained on."""
_TYPES = ("tensor(float)",)


def read_onnx(path: Path, options: OnnxOptions | None = None, **fields: Any) -> Backbone:
    """Return the network in an ONNX file as a signature, after a trial on a grey image.

    Parameters
    ----------
    fields : further fields of `Backbone`, such as `crop`.
    """
    options = options or OnnxOptions()
    graph = _read_graph(path)
    if options.output is not None:
        graph = choose_output(graph, options.output, path)
    session = start_session(graph, str(path))
    layout, (height, width) = _read_input(session, options.size, path)
    outputs = session.get_outputs()
    if not outputs:
        raise InputError(f"{path} is no usable network: it has no output.")
    output = outputs[0].name
    mean = parse_numbers("--onnx-mean", options.mean, 0)
    deviation = parse_numbers("--onnx-deviation", options.deviation, 1)
    if min(deviation) < 1:
        raise InputError(
            f"--onnx-deviation {options.deviation} looks as if meant for pixels from 0 to 1: here "
            "they are from 0 to 255, so multiply mean and deviation by 255."
        )
    blank = np.zeros((1, 3, height, width) if layout == "nchw" else (1, height, width, 3))
    try:
        (found,) = session.run([output], {session.get_inputs()[0].name: blank.astype(np.float32)})
    except Exception as error:  # ONNX Runtime has an exception class for each of its codes
        raise InputError(
            f"{path} fails on an image of {height} x {width} pixels: {brief(error)}. Is "
            "--image-size right?"
        ) from None
    features = _count_features(found, output, path)
    array = np.frombuffer(graph, np.uint8)
    return Backbone(
        graph=array,
        output=output,
        features=features,
        size=(height, width),
        mean=mean,
        deviation=deviation,
        layout=layout,
        views=options.views,
        **fields,
    )


def parse_numbers(option: str, text: str, index: int) -> tuple[float, float, float]:
    """Return three numbers from one, from three separated by commas, or from a word."""
    if text in NORMS:
        return NORMS[text][index]
    try:
        numbers = tuple(float(word) for word in text.split(","))
    except ValueError:
        numbers = ()
    if len(numbers) not in (1, 3) or not all(isfinite(number) for number in numbers):
        raise InputError(
            f"{option} must be a number, three separated by commas (red, green, blue), or "
            f"one of {', '.join(NORMS)}, not {text!r}."
        )
    red, green, blue = numbers * 3 if len(numbers) == 1 else numbers
    return red, green, blue


def choose_output(graph: bytes, name: str, path: Path) -> bytes:
    """Return a graph with one output: an output that it has, or any value within it.

    What comes after the value, such as a layer of scores, is then left out when the graph is run.
    """
    onnx = import_onnx()
    try:
        model = onnx.load_model_from_string(graph)
    except Exception as error:  # protobuf and onnx raise their own
        raise InputError(f"{path} is not an ONNX file: {brief(error)}.") from None
    outputs = {output.name: output for output in model.graph.output}
    inner = {value for node in model.graph.node for value in node.output if value}
    if name not in outputs and name not in inner:
        known = ", ".join(outputs)
        raise InputError(f"{path} has no output {name!r}; its outputs: {known}.")
    chosen = outputs.get(name) or onnx.ValueInfoProto(name=name)
    del model.graph.output[:]
    model.graph.output.append(chosen)
    return bytes(model.SerializeToString())


def _read_graph(path: Path) -> bytes:
    if not path.is_file():
        raise InputError(f"--signature onnx:{path}: there is no such file.")
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"{path} is larger than 2 GB, which an ONNX file cannot be.")
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


def _read_input(session: Any, size: int | None, path: Path) -> tuple[str, tuple[int, int]]:
    """Return layout, height and width of the one input, which must take an image in colour."""
    inputs = session.get_inputs()
    if len(inputs) != 1:
        names = ", ".join(repr(value.name) for value in inputs)
        raise InputError(f"{path} must have one input, an image, not {len(inputs)} ({names}).")
    shape, kind = inputs[0].shape, inputs[0].type
    wrong = InputError(
        f"{path}: the input {inputs[0].name!r} is {kind} of shape {shape}; what is needed is "
        "tensor(float) of shape (1, 3, height, width) or (1, height, width, 3)."
    )
    if kind not in _TYPES or len(shape) != 4 or (isinstance(shape[0], int) and shape[0] != 1):
        raise wrong
    if shape[1] == 3 or (not isinstance(shape[1], int) and shape[3] != 3):
        layout, sides = "nchw", shape[2:]
    elif shape[3] == 3:
        layout, sides = "nhwc", shape[1:3]
    else:
        raise wrong
    found = tuple(side if isinstance(side, int) else size or SIZE for side in sides)
    if size is not None and found != (size, size):
        raise InputError(
            f"{path} takes images of {found[0]} x {found[1]} pixels: --image-size {size} is wrong."
        )
    if not 1 <= min(found) <= max(found) <= MAX_SIDE:
        raise InputError(
            f"{path} takes images of {found[0]} x {found[1]} pixels; 1 to {MAX_SIDE} are possible."
        )
    return layout, (found[0], found[1])


def _count_features(found: Any, output: str, path: Path) -> int:
    """Return the length of an output, which must be one vector of numbers."""
    if not isinstance(found, np.ndarray) or found.dtype.kind != "f" or found.size == 0:
        raise InputError(f"{path}: the output {output!r} is not an array of floats.")
    if found.size != max(found.shape, default=0):
        raise InputError(
            f"{path}: the output {output!r} has shape {found.shape}, which is not a vector. Name "
            "another with --onnx-output."
        )
    return int(found.size)
