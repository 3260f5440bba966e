"""Cases of outputs: where results are written, and what exists there already."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.robustness.calling import QUICK
from tests.robustness.cases import Case, Make
from tests.robustness.inputs import copy, write_images

TRAIN = f"train images --out model {QUICK}"
EXTRACT = f"extract images --out model.store {QUICK.split(' --epochs')[0]}"


def trained(*more: str) -> Make:
    """Return a function that copies images, a model and its store; `more` are other files."""

    def make(here: Path, ready: Path) -> None:
        for name in ("images", "model", "model.store"):
            copy(ready / name, here / name)
        for name in more:
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_text("years of work")

    return make


def with_images(*files: str) -> Make:
    """Return a function that writes images, and other files."""

    def make(here: Path, ready: Path) -> None:
        write_images(here / "images")
        for name in files:
            (here / name).parent.mkdir(parents=True, exist_ok=True)
            (here / name).write_text("years of work")

    return make


def with_lists(here: Path, ready: Path) -> None:
    """Copy a model and images, and write a list and a manifest of them and a link to an image."""
    trained()(here, ready)
    (here / "list.txt").write_text("images/ant/0.png\nimages/bee/0.png\n")
    (here / "list.csv").write_text("path,label\nimages/ant/0.png,ant\nimages/bee/0.png,bee\n")
    (here / "linked.png").symlink_to("images/ant/0.png")
    (here / "old.html").write_text("old")
    (here / "old.csv").write_text("old")


def forbid(patch: pytest.MonkeyPatch) -> None:
    """Simulate that nothing may be written: root may write anywhere."""
    plain = os.access
    patch.setattr(os, "access", lambda path, mode: mode != os.W_OK and plain(path, mode))


IMAGE = "images/ant/0.png"
INPUT_CASES = [
    Case(f"{option} over {words.split()[0]}'s {what}", f"{words} --overwrite", 2, says, with_lists)
    for option, what, words, says in (
        ("--out", "image", f"explain model {IMAGE} --out {IMAGE}", f"--out {IMAGE} is an input"),
        ("--out", "link", f"explain model {IMAGE} --out linked.png", "linked.png is an input"),
        ("--csv", "list", "predict model list.txt --csv list.txt", "--csv list.txt is an input"),
        ("--csv", "images", f"predict model images --csv {IMAGE}", f"--csv {IMAGE} is an input"),
        ("--csv", "listed image", f"predict model list.txt --csv {IMAGE}", "is an image"),
        ("--parquet", "model", "predict model images --parquet model/config.json", "is an input"),
        ("--page", "image", f"predict model list.txt --next 1 --page {IMAGE}", "is an image"),
        ("--fix", "manifest", "check list.csv --fix list.csv", "--fix list.csv is an input"),
        ("--fix", "images", f"check images --fix {IMAGE}", f"--fix {IMAGE} is an input"),
        ("--sort-into", "folder", "predict model images --sort-into images", "is an input"),
        ("--out", "folder", "export model.store --out model.store", "is an input"),
        ("--out", "store", "report model.store --out model.store/index.arrow", "is an input"),
    )
]
MODEL_AND_STORE = ("model", "model.store")
OUTPUT_CASES = [
    *INPUT_CASES,
    Case(
        "a page beside images, --overwrite",
        "report model --out model/report.html --overwrite",
        0,
        "model/report.html",
        with_lists,
        replaces=("model/report.html",),
    ),
    Case(
        "predictions beside images, --overwrite",
        "predict model . --csv old.csv --overwrite",
        0,
        "old.csv",
        with_lists,
        replaces=("old.csv",),
    ),
    Case("model at a URL", "train images --out memory://m", 2, "memory://m is a URL", trained()),
    Case("store at a URL", "extract images --out memory://s", 2, "memory://s is a URL", trained()),
    Case("page at a URL", "report model --out memory://p.html", 2, "memory://p.html is", trained()),
    Case("images at a URL", "extract memory://images --out s", 2, "memory://images is a URL"),
    Case("no store at a URL", "train memory://none --out m", 2, "memory://none is not a store"),
    Case("unknown protocol", "train nothing://s --out m", 2, "Protocol not known: nothing"),
    Case("results at a URL", "tune model.store --out memory://t", 2, "memory://t is a", trained()),
    Case("model exists", TRAIN, 2, "model exists. Use --resume", trained()),
    Case(
        "model exists, --overwrite",
        f"{TRAIN} --overwrite",
        0,
        "3 classes",
        trained(),
        MODEL_AND_STORE,
    ),
    Case("model exists, --resume", f"{TRAIN} --resume", 0, "3 classes", trained(), MODEL_AND_STORE),
    Case(
        "user's files in a model folder",
        f"{TRAIN} --overwrite",
        0,
        "3 classes",
        trained("model/notes.txt", "model/mine/a.txt"),
        (
            "model/README.md",
            "model/config.json",
            "model/model.safetensors",
            "model/evidence.json",
            "model/report.html",
            "model.store",
        ),
    ),
    Case(
        "both --overwrite and --resume",
        f"{TRAIN} --overwrite --resume",
        2,
        "--overwrite and --resume",
        trained(),
    ),
    Case("OUT is a file", TRAIN, 2, "model is a file", with_images("model")),
    Case(
        "OUT is a file, --overwrite",
        f"{TRAIN} --overwrite",
        2,
        "model is a file",
        with_images("model"),
    ),
    *(
        Case(
            f"OUT is a folder of the user's{flag}",
            TRAIN + flag,
            2,
            "model contains files that are not a model",
            with_images("model/thesis.tex"),
        )
        for flag in ("", " --overwrite", " --resume")
    ),
    *(
        Case(
            f"OUT is another tool's model{flag}",
            TRAIN + flag,
            2,
            "model contains files that are not a model",
            with_images("model/config.json", "model/model.safetensors"),
        )
        for flag in ("", " --overwrite", " --resume")
    ),
    *(
        Case(
            f"OUT is the data{flag}",
            f"train images --out images {QUICK}{flag}",
            2,
            "--out images is an input of this run",
            with_images(),
        )
        for flag in ("", " --overwrite", " --resume")
    ),
    *(
        Case(
            f"OUT is the store it is trained on{flag}",
            f"train model.store --out model.store {QUICK}{flag}",
            2,
            "--out model.store is an input of this run",
            trained(),
        )
        for flag in ("", " --overwrite", " --resume")
    ),
    Case(
        "OUT inside DATA", f"train images --out images/model {QUICK}", 0, "3 classes", with_images()
    ),
    Case(
        "DATA inside OUT",
        f"train model/images --out model {QUICK} --overwrite",
        2,
        "model contains files that are not a model",
        lambda h, r: copy(r / "images", h / "model" / "images"),
    ),
    Case(
        "DATA inside an earlier model",
        f"train model/images --out model {QUICK} --overwrite",
        0,
        "3 classes",
        lambda h, r: [copy(r / "model", h / "model"), copy(r / "images", h / "model" / "images")],
        (
            "model/README.md",
            "model/config.json",
            "model/model.safetensors",
            "model/evidence.json",
            "model/report.html",
        ),
    ),
    Case(
        "DATA inside the store",
        f"extract s/images --out s {QUICK.split(' --epochs')[0]} --overwrite",
        2,
        "s holds files that do not belong to a store",
        lambda h, r: [copy(r / "model.store", h / "s"), copy(r / "images", h / "s" / "images")],
    ),
    Case("OUT is the root", "train images --out /", 2, "/ is the root of", with_images()),
    Case("OUT below a file", f"train images --out a/b {QUICK}", 2, "a", with_images("a")),
    Case(
        "OUT where nothing can be made",
        f"train images --out /proc/none/m {QUICK}",
        2,
        "/proc/none",
        with_images(),
    ),
    Case("--store is --out", f"{TRAIN} --store ./model", 2, "two outputs", with_images()),
    Case(
        "--store is a folder of the user's",
        f"{TRAIN} --store mine --overwrite",
        2,
        "mine holds files that do not belong to a store",
        with_images("mine/thesis.tex"),
    ),
    Case(
        "--store is the data",
        f"{TRAIN} --store images --overwrite",
        2,
        "images holds files that do not belong to a store",
        with_images(),
    ),
    Case(
        "OUT.store of another run",
        TRAIN,
        2,
        "model.store exists. Use --resume",
        lambda h, r: [write_images(h / "images"), copy(r / "model.store", h / "model.store")],
    ),
    Case(
        "OUT.store of other images, --resume",
        f"{TRAIN} --resume",
        2,
        "model.store was begun with images",
        lambda h, r: [write_images(h / "images", n=7), copy(r / "model.store", h / "model.store")],
    ),
    Case(
        "OUT.store of other settings, --resume",
        f"{TRAIN} --resume --seed 9",
        2,
        "model.store was begun with seed = 0",
        trained(),
    ),
    Case("store exists", EXTRACT, 2, "model.store exists. Use --resume", trained()),
    Case(
        "user's files in a store",
        f"{EXTRACT} --overwrite",
        2,
        "model.store holds files that do not belong to a store",
        trained("model.store/notes.txt"),
    ),
    *(
        Case(
            f"no permission: {command.split()[0]}",
            command,
            2,
            "no permission for",
            with_images(),
            patch=forbid,
        )
        for command in (TRAIN, EXTRACT)
    ),
    *(
        Case(
            f"OUT is {out}: {' '.join(command.split()[:2])}",
            f"{command} --out {out}",
            2,
            says,
            lambda h, r: [trained()(h, r), (h / "loop").symlink_to("loop")],
        )
        for out, says in (
            ("/", "/ is the root of the file system"),
            ("loop", "loop cannot be written: it is, or is below, a circular symbolic link"),
            ("loop/m", "loop/m cannot be written"),
        )
        for command in (
            "train images",
            "extract images",
            "compress model.store",
            "tune model.store",
            "export model",
            "export model.store",
            "report model",
        )
    ),
    Case(
        "OUT holds a circular symbolic link",
        TRAIN,
        2,
        "model contains files that are not a model",
        lambda h, r: [
            write_images(h / "images"),
            (h / "model").mkdir(),
            (h / "model/loop").symlink_to("loop"),
        ],
    ),
]
