"""Cases of failures: bad images, full disks and short memory while writing; damaged stores."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.robustness.calling import QUICK
from tests.robustness.cases import Case
from tests.robustness.cases_outputs import EXTRACT, TRAIN, trained, with_images
from tests.robustness.inputs import bad_images, flip_bit


def untrainable(here: Path, ready: Path) -> None:
    """Copy a model and its store, with too many bad images to train on."""
    trained()(here, ready)
    for number, (content, _) in enumerate(bad_images().values()):
        (here / "images" / "ant" / f"{number}.png").write_bytes(content)


def fill_disk(function: str) -> object:
    """Return a patch under which a function, by its dotted name, finds the disk full."""

    def fail(*arguments, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return lambda patch: patch.setattr(function, fail)


def exhaust_memory(patch: pytest.MonkeyPatch) -> None:
    """Make training run out of memory after a successful extraction."""

    def fail(*arguments, **options):
        raise MemoryError

    patch.setattr("myriad.pipelines.training.train.fit_store", fail)


def rewrite(path: Path, old: str, new: str) -> None:
    """Replace a part of a text file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


FAILURE_CASES = [
    Case("model to overwrite, bad images", f"{TRAIN} --overwrite", 1, "--max-bad", untrainable),
    Case("store to overwrite, bad images", f"{EXTRACT} --overwrite", 1, "--max-bad", untrainable),
    Case(
        "model to overwrite, no data",
        "train nowhere --out model --overwrite",
        2,
        "nowhere does not exist",
        trained(),
    ),
    Case(
        "model to overwrite, too many Gaussians",
        "train images --out model --overwrite --components 4096 --step 60",
        2,
        "too few for a vocabulary",
        trained(),
    ),
    Case(
        "model to overwrite, wrong objective",
        f"{TRAIN} --overwrite --objective best",
        2,
        "--objective",
        trained(),
    ),
    Case(
        "store to overwrite, disk full",
        f"{EXTRACT} --overwrite",
        1,
        "No space left",
        trained(),
        patch=fill_disk("myriad.store.shards.write_batch"),
    ),
    Case(
        "model to overwrite from a store, disk full",
        f"train model.store --out model --overwrite {QUICK}",
        1,
        "No space left",
        trained(),
        patch=fill_disk("myriad.models.folder.checksum"),
    ),
    Case(
        "new store, disk full",
        EXTRACT,
        1,
        "shard-00000.arrow cannot be written: No space left",
        with_images(),
        patch=fill_disk("myriad.store.shards.write_batch"),
    ),
    Case(
        "new model, disk full",
        TRAIN,
        1,
        "No space left",
        with_images(),
        patch=fill_disk("myriad.models.folder.checksum"),
    ),
    Case(
        "model to overwrite from a store, memory short",
        f"train model.store --out model --overwrite {QUICK}",
        1,
        "Not enough memory",
        trained(),
        patch=exhaust_memory,
    ),
    *(
        Case(
            f"{name} of a store is {what}",
            f"train model.store --out m {QUICK}",
            2,
            says,
            lambda h, r, name=name, make=make: [
                trained()(h, r),
                (h / "model.store" / name).unlink(),
                make(h / "model.store" / name),
            ],
        )
        for name in ("store.json",)
        for what, says, make in (
            ("a pipe", "store.json is not a regular file", os.mkfifo),
            (
                "a file of the kernel",
                "store.json is not a regular file",
                lambda path: path.symlink_to("/proc/kmsg"),
            ),
        )
    ),
    *(
        Case(
            f"store to train on has {number}",
            f"train model.store --out m {QUICK}",
            2,
            "store.json is damaged: it is not valid JSON",
            lambda h, r, number=number: [
                trained()(h, r),
                rewrite(h / "model.store/store.json", '"plan": {', f'"plan": {{"x": {number},'),
            ],
        )
        for number in ("NaN", "Infinity", "-Infinity", "1e999")
    ),
    Case(
        "disk full while rows are exported",
        "export model.store --out rows",
        1,
        "rows cannot be written: No space left on device. Free disk space or allow writing, and "
        "run again.",
        trained(),
        patch=fill_disk("myriad.pipelines.stores.exporting.write_header"),
    ),
    *(
        Case(
            f"disk full: {option}",
            f"predict model images {option}",
            1,
            f"No space left for {output}. Free some space",
            trained(),
            patch=fill_disk(function),
        )
        for option, output, function in (
            ("--csv p.csv", "p.csv", "myriad.pipelines.predicting.files._format"),
            ("--sort-into s --copy", "s/ant/0.png", "shutil.copy2"),
        )
    ),
    Case(
        "store to train on was truncated",
        f"train model.store --out m {QUICK}",
        2,
        "shard-00000.arrow is damaged",
        lambda h, r: [trained()(h, r), os.truncate(h / "model.store/shard-00000.arrow", 900)],
    ),
    Case(
        "store to train on has a flipped byte",
        f"train model.store --out m {QUICK}",
        2,
        "shard-00000.arrow is damaged",
        lambda h, r: [trained()(h, r), flip_bit(h / "model.store/shard-00000.arrow", 700)],
    ),
    Case(
        "store to train on lacks store.json",
        f"train model.store --out m {QUICK}",
        2,
        "model.store",
        lambda h, r: [trained()(h, r), (h / "model.store/store.json").unlink()],
    ),
    Case(
        "store to train on lacks its index",
        f"train model.store --out m {QUICK}",
        2,
        "index.arrow",
        lambda h, r: [trained()(h, r), (h / "model.store/index.arrow").unlink()],
    ),
    Case(
        "store to resume has a damaged plan",
        f"{EXTRACT} --resume",
        2,
        "plan.json",
        lambda h, r: [trained()(h, r), (h / "model.store/plan.json").write_text("{")],
    ),
]
