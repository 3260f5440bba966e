"""Small jobs of every verb, which the campaign runs with faults and concurrently."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from myriad.store import Store
from tests.robustness.calling import QUICK, Called, call
from tests.robustness.inputs import write_images

DESCRIBE = "--components 2 --regions 1 --step 12 --threads 1"
TRAIN = f"{QUICK} --threads 1"
STUDY = "--epochs 1 --threads 1"


@dataclass(frozen=True)
class Job:
    """A command and what it needs.

    Attributes
    ----------
    name : of the job; the first word is the verb.
    command : in a folder with the files that it needs.
    needs : files and folders that are copied there; ``a=b`` copies `a` to the name `b`.
    again : further options for the run after a failure.
    alike : a folder of so many files of one kind that faults are tried at the first and the last
        of them only; see `select_calls`.
    """

    name: str
    command: str
    needs: tuple[str, ...]
    again: str = "--resume"
    alike: str | None = None

    @property
    def words(self) -> list[str]:
        return self.command.split()

    @property
    def retry_words(self) -> list[str]:
        """The command after a failure: `again` instead of ``--overwrite`` or ``--resume``."""
        kept = [word for word in self.words if word not in ("--overwrite", "--resume")]
        return [*kept, *self.again.split()]

    @property
    def retries(self) -> list[list[str]]:
        """The commands to try after a failure: the next one, if one is refused with status 2.

        A run may be refused because too little was done to resume it.
        """
        return [self.retry_words, self.words, [*self.retry_words, "--overwrite"]]

    def copy_inputs(self, ready: Path, folder: Path) -> None:
        """Copy what the command needs to an empty folder."""
        for need in self.needs:
            source, _, name = need.partition("=")
            target = folder / (name or source)
            if (ready / source).is_dir():
                shutil.copytree(ready / source, target)
            else:
                shutil.copy2(ready / source, target)


IMPORT = "import rows.npy --labels labels.npy --out new.store --threads 1"
OLD = ("other=new", "other.store=new.store")
JOBS = [
    Job("train images", f"train images --out new {TRAIN}", ("images",)),
    Job("train over", f"train images --out new --overwrite {TRAIN}", ("images", *OLD)),
    Job("train rows", f"train model.store --out new {TRAIN}", ("model.store",)),
    Job(
        "train dual",
        "train rows.store --out new --objective dual --epochs 3 --threads 1",
        ("rows.store",),
    ),
    Job(
        "train search",
        "train rows.store --out new --objective ovr --epochs 1 --threads 1",
        ("rows.store",),
    ),
    Job(
        "train negatives",
        "train rows.store --out new --objective softmax --negatives 1 --epochs 2 --threads 1",
        ("rows.store",),
    ),
    Job("extract", f"extract images --out new.store {DESCRIBE}", ("images",)),
    Job(
        "extract over",
        f"extract images --out new.store --overwrite {DESCRIBE}",
        ("images", "other.store=new.store"),
    ),
    Job("import", IMPORT, ("rows.npy", "labels.npy")),
    Job("import over", f"{IMPORT} --overwrite", ("rows.npy", "labels.npy", "rows.store=new.store")),
    Job("import in place", f"{IMPORT} --in-place", ("rows.npy", "labels.npy")),
    Job("compress", "compress rows.store --codes scalar --out new --threads 1", ("rows.store",)),
    Job(
        "compress bits",
        "compress rows.store --codes bits --ratio 32 --out new --threads 1",
        ("rows.store",),
    ),
    Job("export rows", "export model.store --out new --threads 1", ("model.store",), "--overwrite"),
    Job("export model", "export model --out new.onnx --threads 1", ("model",), "--overwrite"),
    Job(
        "export weights",
        "export model --out new --weights int8 --threads 1",
        ("model",),
        "--overwrite",
    ),
    Job(
        "predict",
        "predict model images/ant --csv new.csv --threads 1",
        ("model", "images"),
        "--overwrite",
    ),
    Job(
        "predict parquet",
        "predict model images/ant --parquet new.parquet --threads 1",
        ("model", "images"),
        "--overwrite",
    ),
    *(
        Job(
            f"predict {name}",
            f"predict model images/ant --sort-into new {option} --threads 1",
            ("model", "images"),
            "--overwrite",
        )
        for name, option in (("links", ""), ("copies", "--copy"))
    ),
    Job(
        "extend",
        "extend model images --out new --update --store model.store --threads 1",
        ("model", "model.store", "images"),
    ),
    Job("forget", "forget model ant --out new --threads 1", ("model",), "--overwrite"),
    Job(
        "merge",
        "merge model ant bee --into insect --out new --threads 1",
        ("model",),
        "--overwrite",
    ),
    Job("check", "check model.store --out new --threads 1", ("model.store",), "--overwrite"),
    Job(
        "check images",
        "check images --out new --fix new.csv --threads 1",
        ("images",),
        "--overwrite",
    ),
    Job("info", "info --threads 1", (), ""),
    Job("evaluate", "evaluate model images --json --threads 1", ("model", "images"), ""),
    Job(
        "explain",
        "explain model images/ant/0.png --out new.png --threads 1",
        ("model", "images"),
        "--overwrite",
    ),
    Job("report model", "report model --threads 1", ("model",), ""),
    Job(
        "report store",
        "report model.store --out new.html --threads 1",
        ("model.store", "images"),
        "--overwrite",
    ),
    Job(
        "tune",
        f"tune rows.store --out new --betas 1 --etas 0.1 --lams 0.001 {STUDY}",
        ("rows.store",),
    ),
    Job(
        "compare",
        f"compare rows.store --out new --objectives ovr,means {STUDY}",
        ("rows.store",),
    ),
    Job(
        "compare codes",
        f"compare rows.store --codes scalar --ratios 4 --out new {STUDY}",
        ("rows.store",),
    ),
    Job(
        "demo",
        "demo --out new --classes 10 --images 5 --objective means --threads 1",
        (),
        "",
        alike="new/images",
    ),
]
NOT_JOBS = {"plan", "serve", "warm-up"}
"""Verbs without files: `plan` and `warm-up` keep none, `serve` has tests of its own."""


def make_ready(folder: Path) -> None:
    """Write the inputs of all jobs to an empty folder, which is the current one."""
    write_images(folder / "images")
    write_images(folder / "more", classes=("ant", "bee", "dog"), first=4)
    for data, out in (("images", "model"), ("more", "other")):
        require_success(call("train", data, "--out", out, *TRAIN.split()))
    add_rows(folder)


def add_rows(folder: Path) -> None:
    """Write rows with labels, as arrays and as a store."""
    rows = np.random.default_rng(1).standard_normal((60, 8)).astype(np.float32)
    np.save(folder / "rows.npy", rows)
    np.save(folder / "labels.npy", np.arange(60) % 3)
    writer = Store.create(
        folder / "rows.store", class_names=["ant", "bee", "cow"], dim=8, n_shards=2
    )
    for number, split in enumerate(("train", "val")):
        half = slice(30 * number, 30 * number + 30)
        paths = [str(i) for i in range(half.start, half.stop)]
        writer.write_shard(number, rows[half], np.arange(60)[half] % 3, paths, split)
    writer.finish()


def require_success(called: Called) -> Called:
    """Return the result of a call; raise `AssertionError` if it failed."""
    if called.status:
        raise AssertionError(called.out + called.err)
    return called
