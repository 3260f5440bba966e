"""Class activation: what each position of a network's maps contributes to a score.

The embedding of most networks is the mean of a map over all positions, of all views of the image;
or several such means, of maps of several layers. After a power and division by the norm, feature j
is ``x_j = a_j mean_p M_jp``, so the score without its bias is a sum over positions p, exactly:
``w x = sum_p e_p`` with ``e_p = sum_j w_j a_j M_jp / n_positions``. Layers, and signatures side by
side, add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.errors import InputError, WorkError
from myriad.signatures.combined import CombinedSignature
from myriad.signatures.explanations.contributions import Contributions, contribute
from myriad.signatures.networks.backbone import Backbone, Corner
from myriad.signatures.networks.sessions import brief, import_onnx, open_session

_NO_MAP = (
    "The embedding of this network is not the mean of a map over positions, so it cannot be "
    "explained."
)
FINER = 5
"""Tiles for each position of a map, along both axes."""
_KEEPS_VALUES = ("Flatten", "Reshape", "Squeeze", "Identity")


@contribute.register
def _(signature: Backbone, image: Bytes, weights: Float) -> Contributions:
    views = list(signature.cut_views(image))
    maps = [read_maps(signature, pixels) for pixels, _, _ in views]
    lengths = [len(layer) for layer in maps[0]]
    if sum(lengths) != signature.features:
        raise InputError(_NO_MAP)
    # Views have the same size, so every position of every view has the same weight in the mean.
    means = np.mean([_average(layers) for layers in maps], axis=0)
    row = signature.normalise(means)
    factors = np.where(means == 0, 0.0, row / np.where(means == 0, 1.0, means))
    slopes = np.split(weights.astype(np.float64) * factors, np.cumsum(lengths)[:-1], axis=1)
    found = []
    for layers, (_, corner, mirrored) in zip(maps, views, strict=True):
        for activation, own in zip(layers, slopes, strict=True):
            seen = activation[:, :, ::-1] if mirrored else activation
            grids = np.tensordot(own / (len(maps) * seen[0].size), seen, axes=1)
            fine = np.stack([_refine(grid) for grid in grids])
            tiles = _cut_tiles(signature, image, corner, *fine.shape[1:])
            found.append(Contributions(tiles, fine.reshape(len(fine), -1).T))
    return join(found)


def _average(layers: Sequence[Float]) -> NDArray[np.float64]:
    """Return the means of all maps over their positions, one after the other."""
    return np.concatenate([layer.mean(axis=(1, 2), dtype=np.float64) for layer in layers])


@contribute.register
def _(signature: CombinedSignature, image: Bytes, weights: Float) -> Contributions:
    return join(
        [
            contribute(part, prepared, weights[:, block] * np.float32(share))
            for part, prepared, share, block in signature.iterate_parts(image)
        ]
    )


def join(parts: Sequence[Contributions]) -> Contributions:
    """Return the contributions of several sets of parts as one."""
    return Contributions(
        np.concatenate([part.boxes for part in parts]),
        np.concatenate([part.values for part in parts]),
    )


def _refine(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a grid that is `FINER` times finer, by linear interpolation, with the same sum.

    A map of 7 x 7 positions would show its tiles more than the image. Every value is spread with
    weights that sum to 1, also at the border, where it is continued.
    """
    rows, columns = grid.shape
    size = (FINER * columns, FINER * rows)
    finer = cv2.resize(grid, size, interpolation=cv2.INTER_LINEAR) / FINER**2
    return np.asarray(finer, np.float64).reshape(size[::-1])


def read_maps(signature: Backbone, pixels: Bytes) -> list[Float]:
    """Return the maps of a network for a view: float32 of shape (channels, rows, columns) each."""
    graph, names = _expose(signature)
    session = open_session(lambda: graph, hashlib.sha256(graph).hexdigest())
    try:
        found = session.run(names, {session.get_inputs()[0].name: signature.fit(pixels)})
    except Exception as error:  # ONNX Runtime has an exception class for each of its codes
        raise WorkError(f"The network failed on an image: {brief(error)}.") from None
    maps = [np.asarray(one, np.float32) for one in found]
    if any(one.ndim != 4 or len(one) != 1 for one in maps):
        raise InputError(_NO_MAP)
    return [one[0] for one in maps]


@lru_cache(maxsize=2)
def _expose(signature: Backbone) -> tuple[bytes, list[str]]:
    return expose_maps(signature.graph.tobytes(), signature.output)


def expose_maps(graph: bytes, output: str) -> tuple[bytes, list[str]]:
    """Return a graph whose pooled maps are further outputs, and the names of these outputs.

    Starting at `output`, nodes that only change the shape are skipped, back to the node that takes
    the mean over all positions, or that concatenates several such means; a map is the input of a
    mean. Raises `InputError` if there is no such node.
    """
    onnx = import_onnx()
    model = onnx.load_model_from_string(graph)
    makers = {name: node for node in model.graph.node for name in node.output}
    last = _skip_shapes(output, makers)
    several = last is not None and last.op_type == "Concat"
    names = []
    for node in [_skip_shapes(name, makers) for name in last.input] if several else [last]:
        if node is None or not _takes_mean(node, model, onnx):
            raise InputError(_NO_MAP)
        names.append(node.input[0])
    known = {one.name for one in model.graph.output}
    new = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names) if name not in known]
    model.graph.output.extend(new)
    return bytes(model.SerializeToString()), names


def _skip_shapes(name: str, makers: dict[str, Any]) -> Any:
    """Return the node that computes a value, before nodes that only change its shape; or None."""
    node = makers.get(name)
    while node is not None and node.op_type in _KEEPS_VALUES:
        node = makers.get(node.input[0])
    return node


def _takes_mean(node: Any, model: Any, onnx: Any) -> bool:
    """Return whether a node takes the mean over the last two axes of (1, channels, h, w)."""
    if node.op_type == "GlobalAveragePool":
        return True
    if node.op_type != "ReduceMean":
        return False
    axes = [list(found.ints) for found in node.attribute if found.name == "axes"]
    if not axes and len(node.input) > 1:
        constants = {known.name: known for known in model.graph.initializer}
        known = constants.get(node.input[1])
        axes = [] if known is None else [onnx.numpy_helper.to_array(known).tolist()]
    return bool(axes) and sorted(axis % 4 for axis in axes[0]) == [2, 3]


def _cut_tiles(
    signature: Backbone, image: Bytes, corner: Corner, rows: int, columns: int
) -> NDArray[np.float64]:
    """Return the box of each tile of a view of an image, in fractions."""
    height, width = image.shape[:2]
    high, wide = 1.0, 1.0
    if signature.crop > 0:
        scale = signature.crop * min(height / signature.size[0], width / signature.size[1])
        high, wide = scale * signature.size[0] / height, scale * signature.size[1] / width
    left, top = (1 - wide) * corner[0], (1 - high) * corner[1]
    y, x = np.mgrid[:rows, :columns]
    boxes = [
        left + x * wide / columns,
        top + y * high / rows,
        left + (x + 1) * wide / columns,
        top + (y + 1) * high / rows,
    ]
    return np.stack([edge.ravel() for edge in boxes], axis=1)
