"""Clusters for tests: two real worker processes, of which one is killed in the middle of work."""

import os
import signal
import time

import numpy as np

from myriad.parallel import ClusterExecutor
from myriad.store import Store

N_CLASSES = 300


def make_wide_store(path, *, n=1500, dim=24, n_shards=3, seed=0):
    """Write a store of so many classes that there are several shards of them."""
    rng = np.random.default_rng(seed)
    names = [f"class {c}" for c in range(N_CLASSES)]
    labels = rng.permutation(n) % N_CLASSES
    means = 1.5 * rng.standard_normal((N_CLASSES, dim))
    rows = (means[labels] + rng.standard_normal((n, dim))).astype(np.float32)
    writer = Store.create(path, class_names=names, dim=dim, n_shards=n_shards)
    for number, index in enumerate(np.array_split(np.arange(n), n_shards)):
        splits = [("train", "train", "train", "val", "test")[i % 5] for i in index]
        names_of_rows = [f"{i}.png" for i in index]
        writer.write_shard(number, rows[index], labels[index], names_of_rows, splits=splits)
    writer.finish()
    return Store.open(path)


class DeadlyMapper(ClusterExecutor):
    """Workers of a cluster, one of which is killed while it does the first piece of a map."""

    def __init__(self, executor):
        super().__init__(DeadlyClient(executor._client), executor.n_workers, executor._own)

    def arm(self, kind=object):
        """Let the next piece of a kind of work be deadly; return what has been killed so far.

        Whoever was killed before is given the time to come back.
        """
        self._client.wait_for_workers(self.n_workers, timeout=120)
        time.sleep(0.5)
        self._client.arm(kind)
        return self._client.killed


class DeadlyClient:
    """A client that kills a worker which is at work.

    A piece may take a moment only. So the workers are stopped when one has just got it, and whoever
    has not finished it dies. Every other piece is given no time at all, the rest a moment.
    """

    def __init__(self, client):
        self.client, self.armed, self.killed = client, None, []
        self.pids, self.tries = {}, 0

    def __getattr__(self, name):
        return getattr(self.client, name)

    def arm(self, kind):
        """Let pieces of a kind of work be deadly until a worker has died."""
        self.pids, self.tries, self.armed = self.client.run(os.getpid), 0, kind

    def submit(self, *arguments, **options):
        future = self.client.submit(*arguments, **options)
        if self.armed is not None and isinstance(arguments[1], self.armed):
            self._strike(future)
        return future

    def _strike(self, future):
        time.sleep(0.02 * (self.tries % 2 == 0))
        self.tries += 1
        self._signal(signal.SIGSTOP)
        try:
            for _ in range(100):
                busy = [worker for worker, tasks in self.client.processing().items() if tasks]
                if busy and not future.done():
                    os.kill(self.pids.pop(busy[0]), signal.SIGKILL)
                    self.killed.append(busy[0])
                    self.armed = None
                    return
                if future.done():
                    return
                time.sleep(0.005)
        finally:
            self._signal(signal.SIGCONT)

    def _signal(self, number):
        for pid in self.pids.values():
            os.kill(pid, number)
