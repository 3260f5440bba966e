"""Signatures: an image to one vector; one signature a file, listed in the registry `SIGNATURES`.

The package itself is light, because the help of the command is built from the registry. Any other
name of `myriad.signatures.api` is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name == "api":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import myriad.signatures.api as api

    return getattr(api, name)
