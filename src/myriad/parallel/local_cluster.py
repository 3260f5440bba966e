"""Worker processes of this machine under a Dask scheduler of this process.

Dask restarts a worker when its process dies, but gives it up for good in two cases, both likely on
a busy machine: where it does not come back in time, and where the new process fails to start. So
lost workers are replaced here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from myriad.errors import WorkError

PATIENCE = "60s"
"""How long Dask waits for a worker that was lost before it gives it up."""
SPARE = 8
"""How many lost workers are replaced at most, for each worker that there should be."""

_CALM: dict[str, Any] = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}
"""How often these processes monitor themselves: Dask's defaults take a tenth of a core from two
workers on two cores."""
_GONE = {"closed", "failed"}
_BEFORE = "distributed.nanny.pre-spawn-environ"
_ALLOCATION = {"MALLOC_MMAP_THRESHOLD_": 32 << 20, "MALLOC_TRIM_THRESHOLD_": 256 << 20}
"""How glibc keeps freed memory in workers: with Dask's defaults, blocks of rows are returned to the
system each time, and every page of the next block is a page fault."""


class LocalWorkers:
    """Workers of one thread each; see `start_workers`.

    Attributes
    ----------
    cluster : the Dask cluster, which runs their scheduler.
    """

    def __init__(self, cluster: Any, count: int) -> None:
        self.cluster = cluster
        self._count = count
        self._spare = SPARE * count
        self._starting = False

    def replace_lost(self) -> None:
        """Start to replace workers that Dask has given up; return before they are running."""
        self.cluster.loop.add_callback(self._replace)

    async def _replace(self) -> None:
        nannies = self.cluster.workers
        for name in [name for name, nanny in nannies.items() if nanny.status.name in _GONE]:
            del nannies[name]
        missing = self._count - len(nannies)  # those that are starting are not listed yet
        if self._starting or not 0 < missing <= self._spare:
            return
        self._spare -= missing
        self._starting = True
        try:
            await self.cluster  # Dask starts the workers that are missing
        except Exception as error:
            logging.getLogger(__name__).debug("A worker does not start: %s", error)
        finally:
            self._starting = False


@contextmanager
def start_workers(count: int) -> Iterator[LocalWorkers]:
    """Yield the workers once all of them are running."""
    from dask import config
    from distributed import LocalCluster

    settings = _CALM | {f"{_BEFORE}.{name}": size for name, size in _ALLOCATION.items()}
    settings["distributed.deploy.lost-worker-timeout"] = PATIENCE
    with config.set(settings):
        try:
            cluster = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                silence_logs=logging.CRITICAL,
                memory_limit=0,  # none: a worker at 80 % of a limit would pause for ever
                dashboard_address=":0",  # any free port, since there may be other clusters
            )
        except (RuntimeError, OSError, TimeoutError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise WorkError(
                f"--cluster local:{count}: the workers do not start ({reason}). In a script, this "
                'belongs below if __name__ == "__main__".'
            ) from error
        try:
            yield LocalWorkers(cluster, count)
        finally:
            cluster.close()
