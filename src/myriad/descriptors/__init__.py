"""Local descriptors of images; one descriptor a file, listed in the registry `DESCRIPTORS`.

The package itself is light, because the help of the command is built from the registry. Any other
name of `myriad.descriptors.api` is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from myriad.descriptors.registry import DESCRIPTORS, DescriptorSpec, GridOptions, find_descriptor

if TYPE_CHECKING:
    from myriad.descriptors.api import *  # noqa: F403

__all__ = ["DESCRIPTORS", "DescriptorSpec", "GridOptions", "find_descriptor"]


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name == "api":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import myriad.descriptors.api as api

    return getattr(api, name)
