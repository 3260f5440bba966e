"""Small stores for the tests."""

from dataclasses import dataclass

import numpy as np

from myriad.codes import learn_bits, learn_product, learn_scalar
from myriad.signatures import Signature
from myriad.store import Store

CLASSES = ["ant", 'bee "quoted"', "cow\nline", "odd-\udcff\udc80-bytes"]
DIM = 12


@dataclass(frozen=True, eq=False)
class Invented(Signature, kind="invented-for-store-tests"):
    """Stands for a recipe: a setting and an array."""

    size: int
    weights: np.ndarray

    dim = 1
    colour = False

    def describe(self, image):
        return np.full(1, image.mean(), np.float32)


def make_rows(n, dim=DIM, seed=0):
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def make_code(kind):
    if kind == "pq":
        return learn_product(make_rows(64), d=4, bits=4)
    if kind == "bits":
        return learn_bits(make_rows(64), n_bits=9, information=np.arange(DIM) / DIM)
    return learn_scalar(make_rows(64)) if kind == "scalar" else None


def shard_content(number, n=10, dim=DIM):
    """Return the arguments of `write_shard` for one shard."""
    rng = np.random.default_rng(100 + number)
    return {
        "rows": make_rows(n, dim, seed=number),
        "labels": rng.integers(-1, len(CLASSES), n),
        "paths": [f"{CLASSES[i % 4]}/im {number}-{i}.jpg" for i in range(n)],
        "splits": [("train", "val", "train", "test")[i % 4] for i in range(n)],
        "bad": [{"path": f"bad-{number}-\udcfe.jpg", "reason": "truncated"}] if number % 2 else [],
    }


def begin_store(path, n_shards, *, kind="float32", dim=DIM, plan=None):
    code = make_code(kind)
    return Store.create(
        path,
        class_names=CLASSES,
        dim=dim if code is None else code.decoded_dim,
        n_shards=n_shards,
        dtype=kind if kind.startswith("float") else "float32",
        code=code,
        recipe=Invented(7, np.arange(5.0)),
        plan=plan,
    )


def write_store(path, sizes=(10, 7, 10, 0, 3), *, kind="float32"):
    writer = begin_store(path, len(sizes), kind=kind)
    for number, n in enumerate(sizes):
        writer.write_shard(number, **shard_content(number, n))
    writer.finish()
    return Store.open(path)


def all_rows(sizes=(10, 7, 10, 0, 3)):
    return np.concatenate([make_rows(n, seed=number) for number, n in enumerate(sizes)])
