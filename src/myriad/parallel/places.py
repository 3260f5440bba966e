"""Places: workers with a folder that all of them see, for what they leave to each other."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from myriad.parallel.mapping import Mapper


@dataclass(frozen=True)
class Place:
    """Workers, and a folder that all of them see.

    Attributes
    ----------
    mapper : the workers.
    folder : for what is too large to be sent to them or back.
    """

    mapper: Mapper
    folder: Path

    def begin(self, name: str) -> Path:
        """Return a new folder of its own for a job, which other machines see too."""
        self.folder.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder.absolute()))
        place.chmod(0o777 & ~_umask())
        self.mapper.require(place)
        return place


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
