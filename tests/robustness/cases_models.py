"""Cases of verbs that read a model: ``predict``, ``evaluate`` and ``report``."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.robustness.cases import Case, Make
from tests.robustness.cases_outputs import forbid, trained
from tests.robustness.inputs import bad_images, copy, flip_bit, picture, truncate, write_images

PREDICT = "predict model images/ant/0.png"


def damaged(*changes: object) -> Make:
    """Return a function that copies a model and applies changes to it."""

    def make(here: Path, ready: Path) -> None:
        trained()(here, ready)
        copy(ready / "other", here / "other")
        for change in changes:
            change(here)  # type: ignore[operator]

    return make


def edit(name: str, **fields: object):
    def change(here: Path) -> None:
        content = json.loads((here / name).read_text())
        (here / name).write_text(json.dumps(content | fields))

    return change


def swap(name: str):
    return lambda here: os.replace(here / "other" / name, here / "model" / name)


def listed(*lines: str) -> Make:
    return damaged(lambda here: (here / "l.txt").write_text("\n".join(lines)))


def other_classes(here: Path, ready: Path) -> None:
    trained()(here, ready)
    write_images(here / "animals", ("ant", "elk"), n=3)


def rows_of_other_length(here: Path, ready: Path) -> None:
    import numpy as np

    from myriad.store import Store

    copy(ready / "model", here / "model")
    writer = Store.create(here / "s", class_names=["ant"], dim=7, n_shards=1)
    writer.write_shard(0, np.ones((2, 7), np.float32), [0, 0], ["a", "b"])
    writer.finish()


def bad_pictures(here: Path, ready: Path) -> None:
    trained()(here, ready)
    (here / "bad").mkdir()
    for name, (content, _) in bad_images().items():
        (here / "bad" / name).write_bytes(content)


MODEL_DAMAGE = {
    "no model folder": ("does not exist", lambda here: os.rename(here / "model", here / "x")),
    "config missing": ("no config.json", lambda here: (here / "model/config.json").unlink()),
    "config truncated": (
        "config.json is damaged",
        lambda here: truncate(here / "model/config.json"),
    ),
    "config empty": (
        "config.json is damaged",
        lambda here: truncate(here / "model/config.json", 0),
    ),
    "config newer": ("has format 99", edit("model/config.json", format=99)),
    "config a folder": (
        "config.json",
        lambda here: [(here / "model/config.json").unlink(), (here / "model/config.json").mkdir()],
    ),
    "arrays missing": (
        "model.safetensors is missing",
        lambda here: (here / "model/model.safetensors").unlink(),
    ),
    "arrays truncated": (
        "model.safetensors is damaged",
        lambda h: truncate(h / "model/model.safetensors"),
    ),
    "arrays flipped": (
        "model.safetensors is damaged",
        lambda here: flip_bit(here / "model/model.safetensors"),
    ),
    "arrays swapped": ("belongs to another model", swap("model.safetensors")),
    "config swapped": ("belongs to another model", swap("config.json")),
    "class names short": ("class names for", edit("model/config.json", class_names=["a"])),
}

MODEL_CASES = [
    *(
        Case(f"{command.split()[0]}: {name}", command, 2, says, damaged(change))
        for name, (says, change) in MODEL_DAMAGE.items()
        for command in (PREDICT, "evaluate model images", "report model")
    ),
    Case(
        "predict: no such image",
        "predict model nowhere.png",
        2,
        "nowhere.png does not exist",
        trained(),
    ),
    Case(
        "predict: one of two does not exist",
        f"{PREDICT} nowhere.png",
        2,
        "nowhere.png does not exist",
        trained(),
    ),
    Case("predict: nothing named", "predict model", 2, "Missing argument", trained()),
    Case(
        "predict: empty folder",
        "predict model e",
        2,
        "e holds no images",
        damaged(lambda h: (h / "e").mkdir()),
    ),
    Case(
        "predict: list with a missing file",
        "predict model l.txt",
        0,
        "missing file",
        listed("images/ant/0.png", "gone.png"),
    ),
    Case(
        "predict: list of missing files",
        "predict model l.txt",
        2,
        "none of its 1 files exists",
        listed("gone.png"),
    ),
    Case("predict: empty list", "predict model l.txt", 2, "l.txt lists no images", listed("", " ")),
    Case(
        "predict: list that is no text",
        "predict model l.txt",
        2,
        "l.txt is not a list",
        damaged(lambda h: (h / "l.txt").write_bytes(b"\xff\xfe\x00")),
    ),
    Case("predict: only bad images", "predict model bad", 1, "None of the 6", bad_pictures),
    Case(
        "predict: a folder of a store",
        "predict model model.store",
        2,
        "model.store holds no images",
        trained(),
    ),
    Case("predict: k above the classes", f"{PREDICT} -k 1000", 0, "cow", trained()),
    Case("predict: k of zero", f"{PREDICT} -k 0", 2, "-k", trained()),
    Case("predict: k is a word", f"{PREDICT} -k many", 2, "-k", trained()),
    Case(
        "predict: --csv exists",
        f"{PREDICT} --csv images/ant/1.png",
        2,
        "--csv images/ant/1.png exists",
        trained(),
    ),
    Case(
        "predict: --csv exists, --overwrite",
        f"{PREDICT} --csv x.csv --overwrite",
        0,
        "ant",
        trained("x.csv"),
        ("x.csv",),
    ),
    Case(
        "predict: --csv is a folder",
        f"{PREDICT} --csv images --overwrite",
        2,
        "--csv images is not a regular file",
        trained(),
    ),
    Case(
        "predict: --csv is a device",
        f"{PREDICT} --csv p --overwrite",
        2,
        "--csv p is not a regular file",
        damaged(lambda h: os.mkfifo(h / "p")),
    ),
    Case(
        "predict: --csv in no folder",
        f"{PREDICT} --csv no/x.csv",
        2,
        "the folder no does not exist",
        trained(),
    ),
    Case(
        "predict: --csv forbidden",
        f"{PREDICT} --csv x.csv",
        2,
        "x.csv cannot be written",
        trained(),
        patch=forbid,
    ),
    Case(
        "predict: image with a leading dash",
        "predict model -- -x.png",
        0,
        "-x.png",
        damaged(lambda h: (h / "-x.png").write_bytes(picture(0, 0))),
    ),
    Case(
        "predict: leading dash without --",
        "predict model -x.png",
        2,
        "-x",
        damaged(lambda h: (h / "-x.png").write_bytes(picture(0, 0))),
    ),
    Case(
        "evaluate: no such hierarchy",
        "evaluate model images --hierarchy tree.csv",
        2,
        "--hierarchy tree.csv cannot be read",
        trained(),
    ),
    Case("evaluate: no data", "evaluate model nowhere", 2, "nowhere does not exist", trained()),
    Case(
        "evaluate: other classes",
        "evaluate model animals",
        0,
        "3 of classes that the model does not know",
        other_classes,
    ),
    Case(
        "evaluate: no such split",
        "evaluate model images --split test",
        2,
        "--split test",
        trained(),
    ),
    Case(
        "evaluate: too many bad images",
        "evaluate model images --max-bad 0",
        1,
        "images/ant/z.png (empty file)",
        damaged(lambda h: (h / "images/ant/z.png").touch()),
    ),
    Case(
        "evaluate: bad images allowed",
        "evaluate model images --max-bad 0.3",
        0,
        "1 bad images skipped",
        damaged(lambda h: (h / "images/ant/z.png").touch()),
    ),
    Case(
        "evaluate: rows of other length",
        "evaluate model s",
        2,
        "have 7 features",
        rows_of_other_length,
    ),
    Case(
        "evaluate: rows of another vocabulary",
        "evaluate model other.store",
        2,
        "other.store were made with another signature or vocabulary",
        lambda h, r: [trained()(h, r), copy(r / "other.store", h / "other.store")],
    ),
    Case(
        "evaluate: store truncated",
        "evaluate model model.store",
        2,
        "shard-00000.arrow is damaged",
        damaged(lambda h: truncate(h / "model.store/shard-00000.arrow")),
    ),
    Case(
        "evaluate: store with a flipped byte",
        "evaluate model model.store",
        2,
        "shard-00000.arrow is damaged",
        damaged(lambda h: flip_bit(h / "model.store/shard-00000.arrow", 700)),
    ),
    Case(
        "evaluate: unfinished store",
        "evaluate model model.store",
        2,
        "unfinished",
        damaged(lambda h: (h / "model.store/store.json").unlink()),
    ),
    Case(
        "report: no evidence",
        "report model",
        2,
        "has no evidence.json",
        damaged(lambda h: (h / "model/evidence.json").unlink()),
    ),
    Case(
        "report: evidence truncated",
        "report model",
        2,
        "evidence.json is damaged",
        damaged(lambda h: truncate(h / "model/evidence.json")),
    ),
    Case(
        "report: evidence of another kind",
        "report model",
        2,
        "evidence.classes must be a list",
        damaged(edit("model/evidence.json", classes=7)),
    ),
    Case(
        "report: images gone",
        "report model",
        0,
        "model/report.html",
        damaged(lambda h: os.rename(h / "images", h / "moved")),
        ("model/report.html",),
    ),
    Case(
        "report: store",
        "report model.store",
        0,
        "model.store.html",
        trained(),
    ),
    Case(
        "report: store, images gone",
        "report model.store",
        0,
        "model.store.html",
        damaged(lambda h: os.rename(h / "images", h / "moved")),
    ),
    Case(
        "report: store, page exists",
        "report model.store",
        2,
        "model.store.html exists. Use --overwrite",
        trained("model.store.html"),
    ),
    Case(
        "report: store, page exists, --overwrite",
        "report model.store --overwrite",
        0,
        "model.store.html",
        trained("model.store.html"),
        ("model.store.html",),
    ),
    Case(
        "report: unfinished store",
        "report model.store",
        2,
        "unfinished",
        damaged(lambda h: (h / "model.store/store.json").unlink()),
    ),
    Case(
        "report: --out exists",
        "report model --out thesis.html",
        2,
        "--out thesis.html exists",
        trained("thesis.html"),
    ),
    Case(
        "report: --out is a folder",
        "report model --out images --overwrite",
        2,
        "--out images is not a regular file",
        trained(),
    ),
    Case(
        "report: --out in no folder",
        "report model --out no/r.html",
        2,
        "the folder no does not exist",
        trained(),
    ),
]
