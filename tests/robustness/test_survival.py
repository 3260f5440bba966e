"""Results of runs that succeed in spite of difficult inputs."""

import csv
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from myriad.models import load_model
from myriad.store import Store
from tests.robustness.calling import QUICK, call, environment
from tests.robustness.cases_data import HARD_NAMES
from tests.robustness.inputs import bad_images, bomb, picture, snapshot, write_images


def train(*more):
    called = call("train", "images", "--out", "m", "--json", *QUICK.split(), *more)
    assert called.status == 0, called.out
    return json.loads(called.out)


def predict(*inputs):
    called = call("predict", "m", "--json", *inputs)
    assert called.status == 0, called.out
    return json.loads(called.out)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_bad_images_are_listed_with_their_reason(here):
    write_images(here / "images", ("ant", "bee"), n=5)
    for name, (content, _) in bad_images().items():
        (here / "images" / "ant" / name).write_bytes(content)
    train("--max-bad", "0.5")
    listed = {Path(bad["path"]).name: bad["reason"] for bad in Store.open("m.store").bad}
    assert listed.keys() == bad_images().keys()
    for name, (_, reason) in bad_images().items():
        assert reason in listed[name]
    page = (here / "m" / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in bad_images())
    predicted = predict(*(f"images/ant/{name}" for name in bad_images()), "images/bee/0.png")
    assert {Path(bad["path"]).name: bad["reason"] for bad in predicted["bad"]} == listed
    assert [Path(one["path"]).name for one in predicted["predictions"]] == ["0.png"]


def test_a_run_with_too_many_bad_images_is_resumed_with_a_higher_limit(here):
    write_images(here / "images", ("ant", "bee"), n=5)
    (here / "images" / "ant" / "x.png").write_bytes(b"")
    command = ["train", "images", "--out", "m", *QUICK.split()]
    assert call(*command).status == 1
    (here / "m.store").mkdir(exist_ok=True)
    assert call(*command, "--resume", "--max-bad", "0.2").status == 0
    assert call(*command, "--resume").status == 1  # it found more than the limit allows now


def test_hard_names_stay_as_they_are(here):
    write_images(here / "images", HARD_NAMES, n=3)
    train()
    assert load_model(Path("m")).class_names == sorted(HARD_NAMES)
    page = (here / "m" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "{{ 7 * 7 }}" in page  # and not 49
    predicted = predict("images", "-k", "11")
    for one in predicted["predictions"]:
        assert {entry["label"] for entry in one["labels"]} == set(HARD_NAMES)
    called = call("predict", "m", "images", "--csv", "all.csv")
    assert called.status == 0
    assert "\x1b" not in called.out
    with open("all.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["label"] for row in rows} == set(HARD_NAMES)
    assert not list(here.rglob("evil"))


def test_names_of_results_may_be_hard_too(here):
    write_images(here / "images", n=3)
    for name in ("new\nline", "-m", "--json", b"\xff".decode("utf-8", "surrogateescape")):
        called = call("train", "images", f"--out={name}", *QUICK.split())
        assert called.status == 0, called.err
        assert "bug" not in called.err
        assert load_model(Path(name)).class_names == ["ant", "bee", "cow"]
        assert call("report", "--", name).status == 0
        assert call("evaluate", "--", name, "images").status == 0


def test_the_current_folder_may_be_the_result(here, monkeypatch):
    write_images(here / "images", n=3)
    for verb in ("train", "extract"):
        (here / verb).mkdir()
        monkeypatch.chdir(here / verb)
        options = QUICK.split() if verb == "train" else ["--components", "2", "--step", "12"]
        called = call(verb, "../images", "--out", ".", *options)
        assert called.status == 0, called.err
    assert (here / "train.store" / "store.json").exists()


def test_a_store_behind_a_link_is_replaced_where_it_lies(here):
    write_images(here / "images", n=3)
    (here / "disk" / "rows").mkdir(parents=True)
    (here / "s").symlink_to("disk/rows")
    command = ["extract", "images", "--out", "s", "--components", "2", "--step", "12"]
    for more in ([], ["--seed", "7", "--overwrite"]):
        assert call(*command, *more).status == 0
    assert (here / "s").is_symlink()
    assert Store.open("disk/rows").plan["seed"] == 7
    assert [path.name for path in (here / "disk").iterdir()] == ["rows"]


def test_model_files_may_be_read_by_whoever_may_read_the_config(ready):
    modes = {path.name: path.stat().st_mode for path in (ready / "model").iterdir()}
    assert modes["model.safetensors"] == modes["config.json"] == modes["README.md"]


SHAPES = {"1 x 1": (1, 1), "3 x 5": (3, 5), "5000 x 3": (5000, 3), "40 x 40": (40, 40)}


@pytest.mark.parametrize("kind", ["noise", "constant"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_two_classes_of_two_tiny_images(here, shape, kind):
    draws = np.random.default_rng(0)
    for label, name in enumerate(("ant", "bee")):
        (here / "images" / name).mkdir(parents=True)
        for number in range(2):
            pixels = np.full(shape, 60 + 100 * label, np.uint8)
            if kind == "noise":
                pixels = draws.integers(0, 255, shape, dtype=np.uint8)
            Image.fromarray(pixels).save(here / "images" / name / f"{number}.png")
    # Images of one colour have no gradients, but a colour.
    plain = kind == "constant" or shape == (1, 1)
    options = ["--descriptor", "colour"] if plain else []
    called = call("train", "images", "--out", "m", "--components", "16", *options)
    assert called.status == 0, called.err
    weights = load_model(Path("m")).model.weights
    assert np.isfinite(weights).all()
    scores = [entry["score"] for one in predict("images")["predictions"] for entry in one["labels"]]
    assert len(scores) == 8
    assert None not in scores


def test_unknown_classes_count_as_wrong(here, ready):
    write_images(here / "animals", ("ant", "elk"), n=3)
    called = call("evaluate", ready / "model", "animals", "--json")
    found = json.loads(called.out)
    assert (found["n"], found["unknown"]) == (6, 3)
    assert found["accuracy_at"]["10"] == 50.0
    assert found["class_top5"] == 50.0


def test_a_model_trained_on_rows_cannot_read_images(here):
    writer = Store.create("s", class_names=["ant", "bee"], dim=3, n_shards=1)
    rows = np.eye(4, 3, dtype=np.float32)
    writer.write_shard(0, rows, [0, 1, 0, 1], list("abcd"), "train")
    writer.finish()
    assert call("train", "s", "--out", "m", "--epochs", 1).status == 0
    (here / "x.png").write_bytes(picture(0, 0))
    called = call("predict", "m", "x.png")
    assert called.status == 2
    assert "cannot read images" in called.err


def test_archives_write_nothing_outside_themselves(here):
    (here / "inner").mkdir()
    with zipfile.ZipFile(here / "inner" / "a.zip", "w") as packed:
        for name in ("ant", "bee"):
            for number in range(3):
                packed.writestr(f"{name}/{number}.png", picture(len(name), number))
        packed.writestr("../evil.png", picture(0, 0))
        packed.writestr("/evil.png", picture(0, 0))
    before = snapshot(here)
    for verb in ("train", "extract"):
        assert call(verb, "inner/a.zip", "--out", "inner/m").status == 2
    assert snapshot(here) == before
    assert not Path("/evil.png").exists()


def test_a_demo_replaces_what_a_demo_wrote(here, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MYRIAD_CACHE_DIR", str(tmp_path_factory.mktemp("rows of networks")))
    demo = ["demo", "--classes", 10, "--images", 5, "--objective", "ovr"]
    for _ in range(2):
        called = call(*demo, "--json")
        assert called.status == 0, called.out
        assert not list(here.rglob("*.part"))
        Path("myriad-demo/images/stale.txt").touch()
        # As a demo leaves them that is killed while it writes a file.
        Path("myriad-demo/demo.json").rename("myriad-demo/.demo.json.part")
        Path("myriad-demo/.report.html.part").touch()
    (here / "myriad-demo" / "thesis.tex").touch()
    before = snapshot(here)
    assert call(*demo).status == 2
    assert snapshot(here) == before


def test_bombs_take_no_memory(here):
    """A file of some hundred bytes that states 3.6 gigapixels is refused in 1.5 GB of memory."""
    (here / "b.png").write_bytes(bomb())
    assert len(bomb()) < 1000
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (3 << 29, 3 << 29));"
        "from myriad.images import BadImage, read_image\n"
        "try: read_image(open('b.png', 'rb').read())\n"
        "except BadImage as error: print(error.reason)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=here,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "3600000000 pixels, more than the limit" in done.stdout, done.stderr


@pytest.mark.skipif(shutil.which("mount") is None, reason="needs mount")
def test_a_disk_that_is_really_full(here, ready):
    """Fill a disk of 300 kB with rows, enlarge it, and resume."""
    disk = here / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount")
    try:
        write_images(here / "images", n=30)
        options = ["--components", "2", "--regions", "4", "--step", "24", "--codes", "none"]
        command = ["train", "images", "--out", "disk/m", *options, "--epochs", "1"]
        called = call(*command)
        assert called.status == 1
        assert "No space left" in called.err
        assert "Traceback" not in called.err
        subprocess.run(["mount", "-o", "remount,size=40m", disk], check=True)
        called = call(*command, "--resume")
        assert called.status == 0, called.err
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.long
def test_ten_thousand_classes_of_one_image_each(here):
    """Nothing can be held out, and some classes look the same."""
    pictures = [picture(number % 10, number // 10) for number in range(100)]
    for number in range(10_000):
        path = here / "images" / str(number) / "0.png"
        path.parent.mkdir(parents=True)
        path.write_bytes(pictures[number % 100])
    called = call("train", "images", "--out", "m", *QUICK.split())
    assert called.status == 0, called.err
    assert "10,000 classes" in called.out or "10000 classes" in called.out
    assert "No validation images" in called.out + called.err
    assert len(load_model(Path("m")).class_names) == 10_000
    assert len(predict("images/7")["predictions"]) == 1
