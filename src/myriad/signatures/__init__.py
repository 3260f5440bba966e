"""Signatures: an image to one vector; one signature a file, listed in the registry `SIGNATURES`.

The package itself is light, because the help of the command is built from the registry. Any other
name of `myriad.signatures.api` is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.lazy import import_from_api
from myriad.signatures.registry import (
    MAPS,
    SIGNATURES,
    OnnxOptions,
    SignatureOptions,
    SignatureSpec,
    find_signature,
    is_backbone,
    open_backbone,
)

if TYPE_CHECKING:
    from myriad.signatures.api import *  # noqa: F403

__all__ = [
    "MAPS",
    "SIGNATURES",
    "OnnxOptions",
    "SignatureOptions",
    "SignatureSpec",
    "find_signature",
    "is_backbone",
    "open_backbone",
]

__getattr__ = import_from_api(__name__)
