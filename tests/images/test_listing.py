from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.images.finding import find_images
from myriad.images.listing import is_image_name, require_classes, require_training_images
from myriad.images.reading import BadImage
from myriad.images.splitting import split_images
from tests.images.pictures import write_picture


@pytest.fixture
def folder(tmp_path):
    for name in ("a/1.png", "a/2.png", "b/1.png", "c/1.png"):
        write_picture(tmp_path / "data" / name)
    return tmp_path / "data"


def test_select(folder):
    images = find_images(folder)
    for chosen in ([3, 0], np.array([3, 0]), np.array([3, 0], np.uint8)):
        some = images.select(chosen)
        assert some.paths == ["c/1.png", "a/1.png"]
        assert some.labels.tolist() == [2, 0]
        assert some.class_names == images.class_names
        assert len(some) == len(some.splits) == 2
    assert images.select(images.labels == 0).paths == ["a/1.png", "a/2.png"]
    assert len(images.select([])) == 0


def test_select_keeps_groups(tmp_path):
    write_picture(tmp_path / "1.png")
    (tmp_path / "m.csv").write_text("path,label,group\n1.png,a,x\n2.png,b,y\n")
    assert find_images(tmp_path / "m.csv").select([1]).groups.tolist() == [1]


def test_read(folder):
    images = find_images(folder)
    assert images.read(2) == (folder / "b/1.png").read_bytes()
    (folder / "b/1.png").unlink()
    with pytest.raises(BadImage, match="missing file"):
        images.read(2)


class TestFingerprint:
    def test_stays(self, folder, tmp_path):
        before = find_images(folder).fingerprint()
        assert find_images(folder).fingerprint() == before
        shutil.copytree(folder, tmp_path / "moved")
        assert find_images(tmp_path / "moved").fingerprint() == before

    def test_changes(self, folder):
        images = find_images(folder)
        prints = {images.fingerprint(), split_images(images, seed=0, val=0.9).fingerprint()}
        write_picture(folder / "a/1.png", size=90)
        prints.add(images.fingerprint())
        (folder / "a/1.png").unlink()
        prints.add(images.fingerprint())
        (folder / "a/2.png").rename(folder / "a/3.png")
        prints.add(find_images(folder).fingerprint())
        (folder / "c").rename(folder / "d")
        prints.add(find_images(folder).fingerprint())
        assert len(prints) == 6


def test_is_image_name():
    assert is_image_name("a.JPG")
    assert is_image_name("a.b.tiff")
    assert not is_image_name("jpg")
    assert not is_image_name("a.jpg.txt")


class TestRequireClasses:
    def test_two_are_enough(self, folder):
        require_classes(find_images(folder))

    def test_one_is_not(self, tmp_path):
        write_picture(tmp_path / "only" / "1.png")
        with pytest.raises(
            InputError, match="at least two classes are needed to train, and only 'only'"
        ):
            require_classes(find_images(tmp_path))

    def test_classes_of_the_test_part_do_not_count(self, tmp_path):
        for name in ("train/a/1.png", "test/b/1.png"):
            write_picture(tmp_path / name)
        images = find_images(tmp_path)
        with pytest.raises(InputError, match="only 'a'"):
            require_classes(images)
        with pytest.raises(InputError, match="has no training images"):
            require_classes(images.select(images.splits == "test"))

    @pytest.mark.parametrize("require", [require_classes, require_training_images])
    def test_there_must_be_training_images(self, tmp_path, require):
        for name in ("val/a/1.png", "val/b/1.png", "test/a/2.png"):
            write_picture(tmp_path / name)
        with pytest.raises(InputError, match="pics has no training images"):
            require(find_images(tmp_path), Path("pics"))

    def test_images_without_folders_have_no_labels_where_none_are_needed(self, tmp_path):
        write_picture(tmp_path / "1.png")
        with pytest.raises(InputError, match="no sub-folders"):
            find_images(tmp_path)
        images = find_images(tmp_path, labelled=False)
        assert images.labels.tolist() == [-1]
        assert (images.class_names, images.splits.tolist()) == ([], ["train"])
        require_training_images(images)
