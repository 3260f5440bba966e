"""Local descriptors of images; one descriptor per file, listed in the registry `DESCRIPTORS`.

The package itself is light, because the help of the command is built from the registry. Any other
name of `myriad.descriptors.api` is imported at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.descriptors.registry import DESCRIPTORS, DescriptorSpec, GridOptions, find_descriptor
from myriad.lazy import import_from_api

if TYPE_CHECKING:
    from myriad.descriptors.api import *  # noqa: F403

__all__ = ["DESCRIPTORS", "DescriptorSpec", "GridOptions", "find_descriptor"]

__getattr__ = import_from_api(__name__)
