from __future__ import annotations

import os
from pathlib import Path

import pytest

from myriad.errors import InputError
from myriad.images.finding import find_images
from myriad.images.folder import scan_folder
from tests.images.pictures import write_picture


def touch(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def named(images):
    """Return (path, class, split) of every image."""
    return [
        (path, images.class_names[label], str(split))
        for path, label, split in zip(images.paths, images.labels, images.splits, strict=True)
    ]


def test_a_folder_a_class(tmp_path):
    touch(tmp_path, "dog/2.jpg", "cat/b/deep/1.PNG", "cat/a.jpeg", "dog/1.webp", "emu/1.gif")
    images = find_images(tmp_path)
    assert images.class_names == ["cat", "dog", "emu"]
    assert named(images) == [
        ("cat/a.jpeg", "cat", ""),
        ("cat/b/deep/1.PNG", "cat", ""),
        ("dog/1.webp", "dog", ""),
        ("dog/2.jpg", "dog", ""),
        ("emu/1.gif", "emu", ""),
    ]
    assert images.labels.dtype == "int32"
    assert images.groups is None
    assert images.warnings == []


def test_classes_without_images_are_noted(tmp_path):
    touch(tmp_path, "cat/1.jpg", "cat/empty/note.txt", "dog/2.jpg", "emu/1.mp4", "fox/x/a.txt")
    (tmp_path / "gnu").mkdir()
    images = find_images(tmp_path)
    assert images.class_names == ["cat", "dog"]
    assert images.warnings == ["Folders without images were left out: 3, the first is 'emu'."]


def test_classes_of_a_split_without_images_are_noted(tmp_path):
    touch(tmp_path, "train/a/1.jpg", "train/b/1.jpg", "test/a/2.jpg", "test/b/readme.txt")
    warning = "Folders without images were left out: 1, the first is 'test/b'."
    assert find_images(tmp_path).warnings == [warning]


def test_order_is_that_of_the_names_not_of_the_disk(tmp_path):
    names = [f"c{i % 7}/{i * 7919 % 1000}.jpg" for i in range(200)]
    touch(tmp_path, *names)
    assert find_images(tmp_path).paths == sorted(set(names))


def test_other_files_are_ignored_and_counted(tmp_path):
    touch(tmp_path, "a/1.jpg", "a/notes.txt", "a/.hidden.jpg", "b/1.jpg", "b/Thumbs.db", "README")
    touch(tmp_path, ".git/1.jpg", "a/.cache/2.jpg")
    images = find_images(tmp_path)
    assert images.paths == ["a/1.jpg", "b/1.jpg"]
    assert images.ignored == 6


@pytest.mark.parametrize(("val", "case"), [("val", str), ("valid", str), ("Validation", str.title)])
def test_parts(tmp_path, val, case):
    train, test = case("train"), case("test")
    touch(tmp_path, f"{train}/a/1.jpg", f"{train}/b/1.jpg", f"{val}/a/2.jpg", f"{test}/c/3.jpg")
    images = find_images(tmp_path)
    assert images.class_names == ["a", "b", "c"]
    assert sorted(named(images)) == sorted(
        [
            (f"{train}/a/1.jpg", "a", "train"),
            (f"{train}/b/1.jpg", "b", "train"),
            (f"{val}/a/2.jpg", "a", "val"),
            (f"{test}/c/3.jpg", "c", "test"),
        ]
    )


def test_one_part_alone(tmp_path):
    touch(tmp_path, "test/a/1.jpg", "test/b/1.jpg")
    assert {split for _, _, split in named(find_images(tmp_path))} == {"test"}


def test_a_train_among_vehicles_is_a_class(tmp_path):
    touch(tmp_path, "bus/1.jpg", "train/1.jpg", "train/steam/2.jpg", "tram/1.jpg")
    images = find_images(tmp_path)
    assert images.class_names == ["bus", "train", "tram"]
    assert set(images.splits) == {""}


def test_test_images_without_classes_are_left_out(tmp_path):
    touch(tmp_path, "train/a/1.jpg", "train/b/1.jpg", "test/1.jpg", "test/2.jpg")
    images = find_images(tmp_path)
    assert images.class_names == ["a", "b"]
    assert len(images) == 2
    assert images.warnings == [
        "Images outside the class folders were left out: 2, the first is 'test/1.jpg'."
    ]


def test_folders_beside_the_parts_are_left_out(tmp_path):
    touch(tmp_path, "train/a/1.jpg", "test/a/2.jpg", "extra/b/1.jpg")
    images = find_images(tmp_path)
    assert images.class_names == ["a"]
    assert "'extra/b/1.jpg'" in images.warnings[0]


def test_stray_images_beside_the_classes(tmp_path):
    touch(tmp_path, "cover.jpg", "a/1.jpg", "b/1.jpg")
    images = find_images(tmp_path)
    assert len(images) == 2
    assert "1, the first is 'cover.jpg'" in images.warnings[0]


def test_images_without_folders(tmp_path):
    touch(tmp_path, "1.jpg", "2.jpg")
    with pytest.raises(InputError, match=r"no sub-folders\. Put the images of each class into"):
        find_images(tmp_path)


def test_no_images(tmp_path):
    with pytest.raises(InputError, match=r"holds no images\.$"):
        find_images(tmp_path)
    touch(tmp_path, "a/1.psd", "a/2.PSD", "a/x.txt", "a/no")
    with pytest.raises(InputError, match=r"only other files: 2 \.psd, 1 "):
        find_images(tmp_path)
    touch(tmp_path, "a/1.avi")
    with pytest.raises(InputError, match="train, extract and predict read frames"):
        find_images(tmp_path)


@pytest.mark.parametrize(
    "name",
    ["two words", "it's", 'a "b"', "new\nline", "Ünïcødé 漢字", "<script>", "a,b;c", "-rf", "50%"],
)
def test_names(tmp_path, name):
    write_picture(tmp_path / name / f"{name}.png")
    write_picture(tmp_path / "other" / "1.png")
    images = find_images(tmp_path)
    at = images.paths.index(f"{name}/{name}.png")
    assert images.class_names[images.labels[at]] == name
    assert images.read(at).startswith(b"\x89PNG")


def test_names_that_are_not_unicode(tmp_path):
    touch(tmp_path, "a/1.jpg", "b/1.jpg")
    (tmp_path / "a" / os.fsdecode(b"caf\xe9.jpg")).touch()
    (tmp_path / os.fsdecode(b"\xff")).mkdir()
    images = find_images(tmp_path)
    assert images.paths == ["a/1.jpg", "b/1.jpg"]
    assert len(images.warnings) == 2
    assert images.ignored == 2
    assert "'a' that are not valid Unicode were left out: 1." in images.warnings[1]


class TestLinks:
    def test_loops_end(self, tmp_path):
        touch(tmp_path, "a/1.jpg", "b/1.jpg", "b/deep/2.jpg")
        (tmp_path / "a" / "up").symlink_to("..")
        (tmp_path / "a" / "self").symlink_to(".")
        (tmp_path / "b" / "deep" / "a").symlink_to("../../a")
        (tmp_path / "circle1").symlink_to("circle2")
        (tmp_path / "circle2").symlink_to("circle1")
        assert find_images(tmp_path).paths == ["a/1.jpg", "b/1.jpg", "b/deep/2.jpg"]

    def test_folders_outside_are_followed(self, tmp_path):
        touch(tmp_path, "store/x/1.jpg", "data/b/1.jpg")
        (tmp_path / "data" / "a").symlink_to(tmp_path / "store" / "x")
        assert find_images(tmp_path / "data").paths == ["a/1.jpg", "b/1.jpg"]

    def test_an_image_belongs_to_the_folder_it_lies_in(self, tmp_path):
        touch(tmp_path, "zebra/herd/1.jpg", "ant/1.jpg")
        (tmp_path / "ant" / "link").symlink_to("../zebra/herd")
        (tmp_path / "aardvark").symlink_to("zebra")
        images = find_images(tmp_path)
        assert named(images) == [("ant/1.jpg", "ant", ""), ("zebra/herd/1.jpg", "zebra", "")]

    def test_many_crossing_links_are_followed_once(self, tmp_path, monkeypatch):
        for i in range(12):
            touch(tmp_path, f"c{i}/1.jpg")
            for j in range(12):
                (tmp_path / f"c{i}" / f"to{j}").symlink_to(f"../c{j}")
        scanned, scan = [], os.scandir
        monkeypatch.setattr(os, "scandir", lambda path: scanned.append(path) or scan(path))
        assert len(find_images(tmp_path)) == 12
        assert len(scanned) <= 12 * 13 + 2  # not once for every way through the links

    def test_links_to_files(self, tmp_path):
        write_picture(tmp_path / "a" / "1.png")
        touch(tmp_path, "b/1.jpg")
        (tmp_path / "b" / "2.png").symlink_to("../a/1.png")
        (tmp_path / "b" / "gone.png").symlink_to("nowhere.png")
        images = find_images(tmp_path)
        assert images.paths == ["a/1.png", "b/1.jpg", "b/2.png", "b/gone.png"]
        assert images.read(2) == images.read(0)

    def test_pipes_are_ignored(self, tmp_path):
        touch(tmp_path, "a/1.jpg", "b/1.jpg")
        os.mkfifo(tmp_path / "a" / "2.jpg")
        images = find_images(tmp_path)
        assert images.paths == ["a/1.jpg", "b/1.jpg"]
        assert images.ignored == 1


def test_folders_that_cannot_be_read(tmp_path, monkeypatch):
    touch(tmp_path, "a/1.jpg", "b/1.jpg")
    listed = os.scandir

    def refuse(path):
        if str(path).endswith(forbidden):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(os, "scandir", refuse)
    forbidden = "b"
    scan = scan_folder(tmp_path)
    assert scan.paths == ["a/1.jpg"]
    assert scan.warnings == ["The folder 'b' cannot be read: Permission denied."]
    forbidden = str(tmp_path)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        scan_folder(tmp_path)


@pytest.mark.skipif(not os.path.ismount("/proc"), reason="there is no /proc")
def test_folders_of_the_kernel_are_not_entered(tmp_path):
    with pytest.raises(InputError, match="a virtual file system"):
        scan_folder(Path("/proc/self"))
    (tmp_path / "link").symlink_to("/proc/self")
    with pytest.raises(InputError, match="holds no images"):
        scan_folder(tmp_path)
