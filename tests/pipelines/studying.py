"""A small store that studies are made on."""

import numpy as np

from myriad.store import Store

CLASSES = [f"class {c}" for c in range(6)]


def make_store(path, *, splits=("train", "train", "train", "val", "test"), dim=8, n=240, seed=0):
    """Write a store of overlapping classes, the rows in the `splits` one after the other."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) // len(splits) % len(CLASSES)
    means = rng.standard_normal((len(CLASSES), dim))
    rows = means[labels] + rng.standard_normal((n, dim))
    writer = Store.create(path, class_names=CLASSES, dim=dim, n_shards=1)
    stated = [splits[i % len(splits)] for i in range(n)]
    paths = [f"{i}.png" for i in range(n)]
    writer.write_shard(0, rows.astype(np.float32), labels, paths, splits=stated)
    writer.finish()
    return Store.open(path)
