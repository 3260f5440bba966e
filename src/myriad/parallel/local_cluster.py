"""Worker processes of this machine under a Dask scheduler of this process; the lost are replaced.

Dask starts a worker anew when its process dies, but gives it up for good in two cases, both of them
likely on a machine that is busy: where it does not come back in time, and where the new process
fails to start. So this room looks after them itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from myriad.errors import WorkError

PATIENCE = "60s"
"""How long Dask may wait for a worker that was lost before it gives it up."""
SPARE = 8
"""Workers that are started in place of lost ones, for each that there should be."""

_CALM: dict[str, Any] = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}
"""How often these processes look at themselves: by Dask's own way, that takes one core in ten from
two workers that have two cores."""
_GONE = {"closed", "failed"}
_BEFORE = "distributed.nanny.pre-spawn-environ"
_ALLOCATION = {"MALLOC_MMAP_THRESHOLD_": 32 << 20, "MALLOC_TRIM_THRESHOLD_": 256 << 20}
"""How glibc keeps memory in workers: by Dask's own way, blocks of rows go back to the system each
time, and every page of the next ones is a fault."""


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
        """Let workers that Dask has given up be started anew; return before they are there."""
        self.cluster.loop.add_callback(self._replace)

    async def _replace(self) -> None:
        nannies = self.cluster.workers
        for name in [name for name, nanny in nannies.items() if nanny.status.name in _GONE]:
            del nannies[name]
        missing = self._count - len(nannies)  # those that are starting are not there yet
        if self._starting or not 0 < missing <= self._spare:
            return
        self._spare -= missing
        self._starting = True
        try:
            await self.cluster  # it starts what it lacks
        except Exception as error:
            logging.getLogger(__name__).debug("A worker does not start: %s", error)
        finally:
            self._starting = False


@contextmanager
def start_workers(count: int) -> Iterator[LocalWorkers]:
    """Yield so many workers, all of them running."""
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
                memory_limit=0,  # by Dask's own, a worker at four fifths of it waits for ever
                dashboard_address=":0",  # any port that is free, should there be other clusters
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
