import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from myriad.errors import InputError, WorkError
from myriad.images import find_images, split_images
from myriad.images.corrections import correct_images
from myriad.pipelines.checking.check import check
from myriad.pipelines.checking.labels import describe_wrong_labels
from myriad.store import Store
from tests.checks.scenes import CoarseSignature, copy_of, photograph
from tests.images.pictures import write_picture


def write(path, image):
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(image, bytes):
        path.write_bytes(image)
    else:
        Image.fromarray(image).save(path)
    return path


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Describe images without a network."""
    monkeypatch.setattr(
        "myriad.pipelines.checking.check.open_network", lambda word: CoarseSignature()
    )


@pytest.fixture
def photos(tmp_path):
    """Return a folder of train and test images with one of every fault."""
    root = tmp_path / "photos"
    for label, name in enumerate(("ant", "bee", "Bee ")):
        for number in range(6):
            write(root / "train" / name / f"{number}.png", photograph(100 * label + number))
        for number in range(2):
            write(root / "test" / name / f"{number}.png", photograph(100 * label + 50 + number))
    write(root / "test" / "ant" / "leak.jpg", copy_of("resized", 0))
    write(root / "train" / "bee" / "other.jpg", copy_of("cropped", 3))
    write(root / "train" / "ant" / "twice.png", photograph(4))
    write(root / "train" / "ant" / "near.jpg", copy_of("mirrored", 5))
    write(root / "train" / "ant" / "cut.jpg", copy_of("quality", 9)[:300])
    write(root / "train" / "bee" / "dark.png", photograph(70) // 7)
    return root


def kinds(checked):
    return {finding.kind: finding for finding in checked.findings}


def test_every_fault_is_found(photos, tmp_path):
    checked = check(photos, tmp_path / "out")
    found = kinds(checked)
    assert set(found) == {"bad", "leak", "contradiction", "copies", "near", "names", "dark"}
    assert checked.serious
    assert found["leak"].count == found["contradiction"].count == found["copies"].count == 1
    assert [finding.serious for finding in checked.findings] == sorted(
        (finding.serious for finding in checked.findings), reverse=True
    )
    groups = [
        {checked.sample.paths[i][len(str(photos)) + 1 :] for i in g.items} for g in checked.groups
    ]
    assert groups[0] == {"train/ant/0.png", "test/ant/leak.jpg"}
    assert groups[1] == {"train/ant/3.png", "train/bee/other.jpg"}
    assert {"train/ant/4.png", "train/ant/twice.png"} in groups
    assert {"train/ant/5.png", "train/ant/near.jpg"} in groups
    assert checked.alike == [["Bee ", "bee"]]
    assert checked.facts["formats"] == {"PNG": 26, "JPEG": 3}
    json.dumps(checked.to_json())


def test_fixed_manifest_has_no_copies_and_no_group_in_two_splits(photos, tmp_path):
    fixed = tmp_path / "fixed.csv"
    checked = check(photos, tmp_path / "out", fix=fixed)
    images = find_images(fixed)  # refuses a group in two splits
    assert len(images) == checked.n_fixed == len(checked.sample) - 2
    names = {path.removeprefix("photos/") for path in images.paths}
    assert "test/ant/leak.jpg" in names
    assert "train/ant/0.png" not in names
    assert "train/ant/twice.png" not in names
    assert "train/ant/cut.jpg" not in names
    number = {path.removeprefix("photos/"): i for i, path in enumerate(images.paths)}
    for first, second in (
        ("train/ant/3.png", "train/bee/other.jpg"),
        ("train/ant/5.png", "train/ant/near.jpg"),
    ):
        assert images.groups[number[first]] == images.groups[number[second]] >= 0
    split = split_images(images, seed=0)
    for group in np.unique(split.groups[split.groups >= 0]):
        assert len(set(split.splits[split.groups == group])) == 1


def test_groups_of_a_manifest_are_kept(tmp_path):
    for seed in range(6):
        write(tmp_path / f"{seed}.png", photograph(seed))
    write(tmp_path / "copy.jpg", copy_of("resized", 1))
    lines = ["path,label,group", "0.png,a,g", "1.png,a,g", "2.png,a,", "3.png,b,h"]
    lines += ["4.png,b,h", "5.png,b,", "copy.jpg,a,"]
    (tmp_path / "photos.csv").write_text("\n".join(lines))
    check(tmp_path / "photos.csv", tmp_path / "out", fix=tmp_path / "fixed.csv")
    images = find_images(tmp_path / "fixed.csv")
    groups = dict(zip(images.paths, images.groups.tolist(), strict=True))
    assert groups["0.png"] == groups["1.png"] == groups["copy.jpg"] >= 0
    assert groups["3.png"] == groups["4.png"] >= 0
    assert groups["3.png"] != groups["0.png"]
    assert groups["2.png"] == groups["5.png"] == -1


def test_equal_files_of_a_class_stay_once_though_another_class_has_one_too(photos, tmp_path):
    for name in ("ant/a.png", "ant/b.png", "bee/c.png", "bee/d.png"):
        write(photos / "train" / name, photograph(900))
    check(photos, tmp_path / "out", fix=tmp_path / "fixed.csv")
    kept = {path.removeprefix("photos/") for path in find_images(tmp_path / "fixed.csv").paths}
    assert {"train/ant/a.png", "train/bee/c.png"} <= kept
    assert kept.isdisjoint({"train/ant/b.png", "train/bee/d.png"})


def test_the_fixed_manifest_may_be_in_another_folder(photos, tmp_path):
    (tmp_path / "lists").mkdir()
    check(photos, tmp_path / "out", fix=tmp_path / "lists" / "fixed.csv")
    assert find_images(tmp_path / "lists" / "fixed.csv").read(0)


def test_clean_images_have_no_findings(tmp_path):
    for seed in range(12):
        write(tmp_path / "photos" / "ab"[seed % 2] / f"{seed}.png", photograph(seed))
    checked = check(tmp_path / "photos", tmp_path / "out")
    assert checked.findings == []
    assert not checked.serious


def test_mirror_images_of_another_class_are_no_copies(tmp_path):
    for seed in range(10):
        write(tmp_path / "photos" / "ab"[seed % 2] / f"{seed}.png", photograph(seed))
    write(tmp_path / "photos" / "b" / "mirrored.jpg", copy_of("mirrored", 0))
    assert check(tmp_path / "photos", tmp_path / "out").groups == []


def test_wrong_labels_are_listed_and_can_be_given_back(tmp_path):
    draws = np.random.default_rng(0)
    for number in range(60):  # a bright stripe whose height is that of the class
        image = photograph(number) // 2
        top = 10 + 30 * (number % 3) + int(draws.integers(0, 8))
        image[top : top + 16] += np.uint8(100)
        label = "abc"[number % 3] if number else "b"
        write(tmp_path / "photos" / label / f"{number}.png", image)
    wrong = tmp_path / "photos" / "b" / "0.png"
    wrong.with_name("0-copy.png").write_bytes(wrong.read_bytes())
    fixed = tmp_path / "fixed.csv"
    checked = check(tmp_path / "photos", tmp_path / "out", labels=True, fix=fixed)
    with checked.labels.file.open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert lines[0]["path"].endswith("b/0-copy.png")
    assert (lines[0]["given"], lines[0]["suggested"], lines[0]["label"]) == ("b", "a", "a")
    assert kinds(checked)["labels"].count == len(lines)
    for data, path in ((tmp_path / "photos", "b/0-copy.png"), (fixed, "photos/b/0-copy.png")):
        images = find_images(data)  # the fixed manifest lacks the other copy, and so does the list
        corrected = correct_images(images, checked.labels.file)
        at = images.paths.index(path)
        assert corrected.class_names[corrected.labels[at]] == "a"


@pytest.mark.parametrize(
    ("wrong", "likely", "sure", "sentence"),
    [
        (1, 1, 0, "1 of 100 labels (1.0 %) is likely wrong: "),
        (10, 10, 0, "10 of 100 labels (10.0 %) are likely wrong: "),
        (1, 1, 1, "1 of 100 labels (1.0 %) is very likely wrong: "),
        (15, 10, 3, "10 of 100 labels (10.0 %) are likely wrong, 3 of them very likely: "),
        (15, 10, 3, ". 5 more may be wrong. Keep the lines of"),
        (15, 0, 0, "15 of 100 labels (15.0 %) differ from what"),
        (15, 0, 0, ": none is likely wrong."),
    ],
)
def test_labels_that_are_likely_wrong_are_counted_in_a_sentence(wrong, likely, sure, sentence):
    found = describe_wrong_labels(wrong, likely, sure, 100, Path("labels.csv"))
    assert sentence in found
    assert ("--corrections" in found) == (likely > 0)


def test_a_store_is_checked_without_images(tmp_path):
    draws = np.random.default_rng(0)
    X = draws.standard_normal((80, 16)).astype(np.float32)
    X[70], X[71] = X[0], X[1] + 0.01
    splits = ["train"] * 70 + ["test"] * 10
    writer = Store.create(tmp_path / "rows", class_names=list("abcd"), dim=16, n_shards=1)
    names = [f"{i}" for i in range(80)]
    writer.write_shard(0, X, np.arange(80, dtype=np.int32) % 4, names, splits, [])
    writer.finish()
    checked = check(tmp_path / "rows", tmp_path / "out")
    assert kinds(checked)["leak"].count == 2
    assert checked.to_json()["kind"] == "rows"
    assert not any("--fix" in finding.sentence for finding in checked.findings)
    with pytest.raises(InputError, match="is a store"):
        check(tmp_path / "rows", tmp_path / "again", fix=tmp_path / "fixed.csv")


def test_few_labels_are_refused_before_the_work(tmp_path):
    for seed in range(6):
        write(tmp_path / "photos" / "ab"[seed % 2] / f"{seed}.png", photograph(seed))
    with pytest.raises(InputError, match="50 images or rows, not 6"):
        check(tmp_path / "photos", tmp_path / "out", labels=True)
    assert not (tmp_path / "out" / "report.html").exists()


def test_bad_calls_are_refused_before_the_work(photos, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        check(photos, tmp_path / "out")
    (tmp_path / "fixed.csv").write_text("mine")
    with pytest.raises(InputError, match=r"--fix .* exists"):
        check(photos, tmp_path / "new", fix=tmp_path / "fixed.csv")
    assert not (tmp_path / "new").exists()
    shutil.make_archive(str(tmp_path / "photos"), "zip", tmp_path, "photos")
    with pytest.raises(InputError, match="unpack"):
        check(tmp_path / "photos.zip", tmp_path / "new", fix=tmp_path / "other.csv")
    with pytest.raises(InputError, match="does not exist"):
        check(tmp_path / "nothing", tmp_path / "new")


def test_no_readable_image_is_an_error(tmp_path):
    for name in ("a/1.png", "b/2.png"):
        write_picture(tmp_path / "photos" / name).write_bytes(b"")
    with pytest.raises(WorkError, match="None of the 2 images can be read"):
        check(tmp_path / "photos", tmp_path / "out")
