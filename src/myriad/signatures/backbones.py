"""The names of networks, as ``--signature`` takes them, and how each is had."""

from __future__ import annotations

from pathlib import Path

from myriad.signatures.backbone import Backbone
from myriad.signatures.onnx_file import OnnxOptions, read_onnx

EFFICIENTNET, FILE = "efficientnet-lite0", "onnx:"


def is_backbone(name: str) -> bool:
    """Tell whether a signature's name is that of a network, which is not learned but opened."""
    return name == EFFICIENTNET or name.startswith(FILE)


def open_backbone(name: str, options: OnnxOptions | None = None) -> Backbone:
    """Return the network called ``efficientnet-lite0`` or ``onnx:FILE``."""
    if name == EFFICIENTNET:
        from myriad.signatures.efficientnet import make_efficientnet

        return make_efficientnet()
    return read_onnx(Path(name.removeprefix(FILE)), options)
