"""Signatures: an image to one vector; one signature per file, listed in the registry `SIGNATURES`.

The package itself is light, because the help of the command is built from the registry. Any other
name of `myriad.signatures.api` is imported at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.lazy import import_from_api
from myriad.signatures.own_options import MAPS, EfficientNetOptions, OnnxOptions
from myriad.signatures.registry import (
    AUTO,
    SIGNATURES,
    SignatureOptions,
    SignatureSpec,
    find_signature,
    is_network,
    open_network,
)

if TYPE_CHECKING:
    from myriad.signatures.api import *  # noqa: F403

__all__ = [
    "AUTO",
    "MAPS",
    "SIGNATURES",
    "EfficientNetOptions",
    "OnnxOptions",
    "SignatureOptions",
    "SignatureSpec",
    "find_signature",
    "is_network",
    "open_network",
]

__getattr__ = import_from_api(__name__)
