"""Cases of ``compress``, and of models of coded rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.robustness.cases import Case
from tests.robustness.inputs import copy, truncate

COMPRESS = "compress model.store --out coded"


def stored(here: Path, ready: Path) -> None:
    copy(ready / "model.store", here / "model.store")


def write_rows(folder: Path, *, n: int = 40, dim: int = 16, kind: str | None = None) -> None:
    """Write a store of random rows of two classes, coded as `kind` if given."""
    from myriad.codes import CODES, CodeOptions, Source
    from myriad.parallel import LearningContext
    from myriad.store import Store

    X = np.random.default_rng(0).standard_normal((n, dim)).astype(np.float32)
    code = None
    if kind is not None:
        code = CODES[kind].learn(Source(X), CodeOptions(kind), LearningContext())
    writer = Store.create(folder, class_names=["ant", "bee"], dim=dim, n_shards=1, code=code)
    labels = np.arange(n) % 2
    writer.write_shard(0, X, labels, [str(i) for i in range(n)], "train")
    writer.finish()


def positive_rows(here: Path, ready: Path) -> None:
    from myriad.store import Store

    writer = Store.create(here / "s", class_names=["ant", "bee"], dim=8, n_shards=1)
    writer.write_shard(0, np.ones((4, 8), np.float32), [0, 1, 0, 1], list("abcd"), "train")
    writer.finish()


def unlabelled_rows(here: Path, ready: Path) -> None:
    from myriad.store import Store

    writer = Store.create(here / "s", class_names=["ant"], dim=8, n_shards=1)
    writer.write_shard(0, np.ones((4, 8), np.float32), [-1] * 4, list("abcd"), "train")
    writer.finish()


CODE_CASES = [
    *(
        Case(f"compress {option}", f"{COMPRESS} {option}", 2, says, stored)
        for option, says in (
            ("--codes zip", "--codes must be one of pq, bits"),
            ("--ratio 0.5", "--ratio"),
            ("--ratio nan", "--ratio"),
            ("--ratio many", "--ratio"),
            ("--codes scalar --ratio 8", "use pq or bits"),
            ("--codes bits --keep 0", "--keep"),
            ("--codes bits --keep 2", "--keep"),
            ("--codes pq --keep 0.5", "--keep belongs"),
            ("--codes bits --keep 0.5 --ratio 64", "give only one"),
            ("--codes bits --bins 3", "--bins must be one of 2, 4"),
            ("--codes pq --bins 4", "--bins belongs"),
            ("--codes turned --ratio 100000", "less than a byte"),
            ("--codes hadamard --rotation random", "--rotation belongs"),
            ("--codes turned --random", "--random belongs to --codes bilinear, not to hadamard"),
            ("--rotation half", "--rotation must be one of none"),
            ("--codes bits --rotation opq", "--rotation belongs"),
            ("--codes pq --random", "--random belongs"),
            ("--codes bits --ratio 100000", "less than a byte"),
            ("--codes pq --ratio 100000", "use bits"),
        )
    ),
    Case(
        "compress fewer rows than centroids",
        "compress s --out coded",
        2,
        "too few for 256 centroids",
        lambda h, r: write_rows(h / "s", n=40),
    ),
    Case(
        "compress fewer rows than a rotation needs",
        "compress s --out coded --rotation opq",
        2,
        "too few to learn a rotation",
        lambda h, r: write_rows(h / "s", n=40),
    ),
    Case(
        "compress a coded store",
        "compress s --codes bits --out coded",
        2,
        "s are already encoded (scalar",
        lambda h, r: write_rows(h / "s", kind="scalar"),
    ),
    Case(
        "compress constant features",
        "compress s --codes bits --out coded",
        2,
        "No feature says anything about the class by its sign",
        positive_rows,
    ),
    Case(
        "compress rows without labels",
        "compress s --codes bits --out coded",
        2,
        "known classes",
        unlabelled_rows,
    ),
    Case("compress no store", "compress nowhere --out coded", 2, "nowhere is not a store"),
    Case(
        "compress onto itself",
        "compress model.store --out model.store",
        2,
        "is an input of this run",
        stored,
    ),
    Case(
        "compress into a folder of the user's",
        "compress model.store --codes scalar --out mine",
        2,
        "mine holds files that do not belong to a store",
        lambda h, r: [stored(h, r), (h / "mine").mkdir(), (h / "mine/thesis.tex").touch()],
    ),
    Case(
        "compress a damaged store",
        "compress model.store --codes scalar --out coded",
        2,
        "shard-00000.arrow is damaged",
        lambda h, r: [stored(h, r), truncate(h / "model.store/shard-00000.arrow")],
    ),
    Case(
        "compress dimensions that d does not divide",
        "compress s --codes pq --ratio 30 --out coded",
        0,
        "padding 1",
        lambda h, r: write_rows(h / "s", n=600, dim=15),
    ),
    *(
        Case(f"compare {option}", f"compare model.store {option}", 2, says, stored)
        for option, says in (
            ("--codes bits,zip", "--codes must be all or some of"),
            ("--codes all --ratios many", "--ratios"),
            ("--codes all --ratios 0", "--ratios"),
            ("--codes zip", "--codes must be all or some of"),
            ("--codes none", "--codes must be all or some of"),
            ("--codes bits --objectives ovr,softmax", "with one objective"),
            ("--codes bits --objectives best", "--objectives must be some of"),
        )
    ),
    Case(
        "compare a coded store",
        "compare s --codes all",
        2,
        "already encoded",
        lambda h, r: write_rows(h / "s", kind="scalar"),
    ),
    Case(
        "compare into a folder of the user's",
        "compare model.store --codes all --out mine",
        2,
        "mine is not empty",
        lambda h, r: [stored(h, r), (h / "mine").mkdir(), (h / "mine/thesis.tex").touch()],
    ),
    Case(
        "evaluate rows of another code",
        "evaluate m other",
        2,
        "another code than that of the model",
        lambda h, r: _two_codes(h),
    ),
]


def _two_codes(here: Path) -> None:
    """Make a model of some bits, and a store of as many other ones."""
    from myriad.codes import CodeOptions
    from myriad.pipelines.stores.compress import compress
    from myriad.pipelines.training.train import train
    from myriad.training import SGD

    write_rows(here / "s")
    compress(here / "s", here / "bits", options=CodeOptions("bits", 64))
    compress(here / "s", here / "other", options=CodeOptions("bits", 64, bins=2))
    train(here / "bits", here / "m", method=SGD(eta=0.1, beta=1.0, epochs=1))
