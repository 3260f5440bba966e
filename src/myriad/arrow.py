"""pyarrow, imported when it is first used: classifying an image needs none of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.lazy import LazyModule

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
else:
    pa = LazyModule("pyarrow")
    pc = LazyModule("pyarrow.compute")
    pq = LazyModule("pyarrow.parquet")

__all__ = ["pa", "pc", "pq"]
