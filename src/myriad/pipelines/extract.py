"""Images to a store: learn the signature and the code once, then describe every image."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.codes import Code, learn_product
from myriad.errors import InputError
from myriad.images import BadImage, ImageList, find_images, require_classes, split_images
from myriad.parallel import pool
from myriad.pipelines.describing import BadImages, describe_images, read_described
from myriad.pipelines.outputs import prepare_output
from myriad.progress import SILENT, Progress
from myriad.randomness import generator
from myriad.signatures import FisherSignature, Signature, learn_fisher
from myriad.store import Store, StoreWriter, shard_rows

VOCABULARY_IMAGES = 1000
CODE_IMAGES = 768
"""Images that the vocabulary and the codebooks are learned from."""


@dataclass(frozen=True)
class ExtractOptions:
    """How images become rows.

    Attributes
    ----------
    signature : ``"fisher"``.
    components : Gaussians of the mixture.
    regions : of the spatial pyramid, 1, 4 or 8.
    codes : ``"pq"`` to code rows as they are made, ``"none"`` to keep float32.
    max_bad : the part of the images that may be bad.
    """

    signature: str = "fisher"
    components: int = 256
    regions: int = 4
    codes: str = "pq"
    max_bad: float = 0.05

    def __post_init__(self) -> None:
        if self.signature != "fisher":
            raise InputError(f"--signature must be fisher, not {self.signature!r}.")
        if self.codes not in ("pq", "none"):
            raise InputError(f"--codes must be pq or none, not {self.codes!r}.")
        if not 0 <= self.max_bad <= 1:
            raise InputError(f"--max-bad must be a part from 0 to 1, not {self.max_bad}.")


@dataclass(frozen=True)
class Extracted:
    """A finished store and how it was made."""

    store: Store
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return what ``extract`` prints."""
        return {
            "store": str(self.store.path),
            "rows": self.store.n_rows,
            "bad": len(self.store.bad),
            "dim": self.store.dim,
            "bytes_per_row": self.store.bytes_per_row,
            "seconds": round(self.seconds, 3),
        }
