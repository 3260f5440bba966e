"""Workers with a folder that all of them see, for data that they hand to each other."""

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
    executor : the workers.
    folder : for data that is too large to be sent to them or back.
    """

    executor: Executor
    folder: Path

    def make_folder(self, name: str) -> Path:
        """Return a new folder for one job, inside `folder`, that every worker can read and write.

        Raises `InputError` if a worker does not see it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder.absolute()))
        # `mkdtemp` allows this user alone; workers may run as others of the same group.
        made.chmod(0o777 & ~_umask())
        self.executor.require(made)
        return made


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
