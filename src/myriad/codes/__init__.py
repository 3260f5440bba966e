"""Codes: rows of float32 to few bytes and back; one code a file, listed in the registry `CODES`.

The package itself is light, because the help of the command is built from the registry. Any other
name of `myriad.codes.api` is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from myriad.codes.registry import CODES, CodeOptions, CodeSpec, Source, find_code

if TYPE_CHECKING:
    from myriad.codes.api import *  # noqa: F403

__all__ = ["CODES", "CodeOptions", "CodeSpec", "Source", "find_code"]


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name == "api":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import myriad.codes.api as api

    return getattr(api, name)
