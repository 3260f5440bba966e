"""Pictures of classes: kept beside a model, and ignored where they do not belong to it."""

import numpy as np

from myriad.files import write_arrays
from myriad.models import ClassPictures, load_pictures
from myriad.models.class_pictures import PICTURES

NAMES = ["a", "b", "\udcff odd"]


def save_pictures(folder, pictures):
    write_arrays(folder / PICTURES, pictures.to_arrays(NAMES))


def test_pictures_are_read_by_class(tmp_path):
    pictures = ClassPictures.of([b"first", None, b"third"])
    save_pictures(tmp_path, pictures)
    found = load_pictures(tmp_path, NAMES)
    assert found is not None
    assert [found.read(c) for c in range(3)] == [b"first", None, b"third"]


def test_missing_damaged_and_foreign_pictures_are_none(tmp_path):
    assert load_pictures(tmp_path, NAMES) is None
    save_pictures(tmp_path, ClassPictures.of([b"x", b"y", b"z"]))
    assert load_pictures(tmp_path, ["a", "b"]) is None
    assert load_pictures(tmp_path, ["b", "a", "\udcff odd"]) is None
    for ends in ([1, 2, 9], [2, 1, 3], [1, 2], [2**63 - 1, -(2**31), 3], [-1, 2, 3]):
        wrong = ClassPictures(np.zeros(3, np.uint8), np.array(ends, np.int64))
        save_pictures(tmp_path, wrong)
        assert load_pictures(tmp_path, NAMES) is None
    for ends in ([1.0, 2.0, 3.0], np.array([2**63 + 2, 2, 3], np.uint64), [[1], [2], [3]]):
        save_pictures(tmp_path, ClassPictures(np.zeros(3, np.uint8), np.array(ends)))
        assert load_pictures(tmp_path, NAMES) is None
    (tmp_path / PICTURES).write_bytes(b"nothing")
    assert load_pictures(tmp_path, NAMES) is None
