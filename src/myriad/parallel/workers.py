"""Places: workers with a folder that all of them see, for what they leave to each other."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from myriad.parallel.executor import Executor


@dataclass(frozen=True)
class Workers:
    """Workers, and a folder that all of them see.

    Attributes
    ----------
    mapper : the workers.
    folder : for what is too large to be sent to them or back.
    """

    executor: Executor
    folder: Path

    def begin(self, name: str) -> Path:
        """Return a new folder of its own for a job, which other machines see too."""
        self.folder.mkdir(parents=True, exist_ok=True)
        workers = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder.absolute()))
        workers.chmod(0o777 & ~_umask())
        self.executor.require(workers)
        return workers


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
