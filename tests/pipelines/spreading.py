"""Clusters for tests: two real worker processes, of which one is killed at work."""

import os
import signal

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
    """Workers of a cluster, one of which is killed after `arm` has been called."""

    def __init__(self, executor):
        super().__init__(DeadlyClient(executor._client), executor.n_workers, executor._own)

    def arm(self, mark, kind=object):
        """Let the next function of a kind kill the worker that calls it first.

        Whoever was killed before is waited for.

        Parameters
        ----------
        mark : a folder that the worker makes before it dies.
        """
        self._client.wait_for_workers(self.workers, timeout=120)
        self._client.mark, self._client.kind = mark, kind


class DeadlyClient:
    """A client whose functions are made deadly while it has a `mark`."""

    def __init__(self, client):
        self.client, self.mark, self.kind = client, None, object

    def __getattr__(self, name):
        return getattr(self.client, name)

    def submit(self, call, function, item, **options):
        if self.mark is not None and isinstance(function, self.kind):
            function = Deadly(function, str(self.mark))
        return self.client.submit(call, function, item, **options)


class Deadly:
    """A function that kills the worker which calls it first, once the work is done.

    All that the work leaves on the disk is there by then, and the result is lost: the work is done
    again by another worker.
    """

    def __init__(self, function, mark):
        self.function, self.mark = function, mark

    def __call__(self, item):
        result = self.function(item)
        try:
            os.mkdir(self.mark)
        except FileExistsError:
            return result
        os.kill(os.getpid(), signal.SIGKILL)
