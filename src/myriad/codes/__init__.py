"""Codes: rows of float32 to few bytes and back; one code per file, listed in the registry `CODES`.

The package itself is light, because the help of the command is built from the registry. Any other
name of `myriad.codes.api` is imported at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.codes.registry import CODES, CodeOptions, CodeSpec, Source, find_code
from myriad.lazy import import_from_api

if TYPE_CHECKING:
    from myriad.codes.api import *  # noqa: F403

__all__ = ["CODES", "CodeOptions", "CodeSpec", "Source", "find_code"]

__getattr__ = import_from_api(__name__)
