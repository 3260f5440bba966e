from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myriad.errors import InputError
from myriad.images.listing import ImageList
from myriad.images.splitting import split_images


def make(labels, splits=None, groups=None):
    labels = np.asarray(labels, np.int32)
    return ImageList(
        root=Path("data"),
        paths=[f"{i}.png" for i in range(len(labels))],
        labels=labels,
        class_names=[f"class {label}" for label in range(labels.max() + 1)],
        splits=np.array([""] * len(labels) if splits is None else splits, dtype="<U5"),
        groups=None if groups is None else np.asarray(groups, np.int32),
    )


def of_sizes(*sizes):
    return make(np.repeat(np.arange(len(sizes)), sizes))


def count_val(images):
    return np.bincount(images.labels[images.splits == "val"], minlength=len(images.class_names))


def test_a_tenth_of_each_class():
    split = split_images(of_sizes(100, 44, 46, 10, 5, 4, 2, 1), seed=0)
    assert count_val(split).tolist() == [10, 4, 5, 1, 1, 0, 0, 0]
    assert set(split.splits) == {"train", "val"}
    assert split.warnings == [
        "Classes with one image only, which stays in training: 1, the first is 'class 7'.",
        "Classes with too few images or groups to set one apart for validation: 2.",
    ]


def test_the_seed_decides():
    images = of_sizes(50, 50)
    first = split_images(images, seed=3).splits
    np.testing.assert_array_equal(split_images(images, seed=3).splits, first)
    assert (split_images(images, seed=4).splits != first).any()
    assert (images.splits == "").all()


def test_every_image_can_be_drawn():
    images = of_sizes(20, 20)
    drawn = np.zeros(40, int)
    for seed in range(300):
        drawn += split_images(images, seed=seed).splits == "val"
    assert drawn.min() > 10
    assert drawn.max() < 60


def test_given_splits_are_kept():
    splits = ["train", "val", "test", "", ""]
    split = split_images(make([0, 0, 1, 1, 0], splits), seed=0)
    assert split.splits.tolist() == ["train", "val", "test", "train", "train"]
    assert split.warnings == []


def test_validation_is_drawn_from_train_never_from_test():
    splits = ["train"] * 40 + ["test"] * 60
    split = split_images(make([0] * 20 + [1] * 20 + [0, 1] * 30, splits), seed=0)
    assert (split.splits[40:] == "test").all()
    assert count_val(split).tolist() == [2, 2]


def test_classes_that_are_only_in_test():
    split = split_images(make([0] * 10 + [1] * 10 + [2], ["train"] * 20 + ["test"]), seed=0)
    assert count_val(split).tolist() == [1, 1, 0]
    assert split.warnings == []


def test_only_test():
    split = split_images(make([0, 1], ["test", "test"]), seed=0)
    assert split.splits.tolist() == ["test", "test"]


def test_small_classes_together_give_some():
    split = split_images(of_sizes(*[3] * 100), seed=0)
    assert count_val(split).sum() == 30
    assert count_val(split).max() == 1


def test_classes_of_one_image():
    split = split_images(of_sizes(*[1] * 20), seed=0)
    assert (split.splits == "train").all()
    assert "No image could be set apart for validation." in split.warnings


def test_share():
    images = of_sizes(40, 40)
    assert count_val(split_images(images, seed=0, val=0.25)).tolist() == [10, 10]
    assert count_val(split_images(images, seed=0, val=0.0)).tolist() == [0, 0]
    assert count_val(split_images(images, seed=0, val=0.999)).tolist() == [39, 39]
    for bad in (-0.1, 1.0, float("nan")):
        with pytest.raises(InputError, match="validation fraction"):
            split_images(images, seed=0, val=bad)


def test_earlier_warnings_are_kept():
    images = of_sizes(10, 10)
    images.warnings.append("Mind this.")
    assert split_images(images, seed=0).warnings == ["Mind this."]


class TestGroups:
    def test_are_never_split(self):
        random = np.random.default_rng(0)
        labels, groups = random.integers(0, 10, 600), random.integers(-1, 120, 600)
        split = split_images(make(labels, groups=groups), seed=0)
        for group in range(120):
            assert len(set(split.splits[groups == group])) <= 1
        share = np.mean(split.splits == "val")
        assert 0.07 < share < 0.14
        assert (count_val(split) < np.bincount(labels)).all()

    def test_of_one_class_each(self):
        labels = np.repeat([0, 1], 50)
        split = split_images(make(labels, groups=np.arange(100) // 5), seed=1)
        assert count_val(split).tolist() == [5, 5]

    def test_one_group_a_class_stays_in_training(self):
        labels = np.repeat([0, 1], 20)
        split = split_images(make(labels, groups=labels), seed=0)
        assert (split.splits == "train").all()
        assert split.warnings[-1] == "No image could be set apart for validation."

    def test_unstated_images_follow_their_group(self):
        images = make([0, 0, 1, 1, 0], ["test", "", "val", "", ""], [5, 5, 6, 6, -1])
        split = split_images(images, seed=0)
        assert split.splits.tolist() == ["test", "test", "val", "val", "train"]

    def test_images_without_a_group_are_drawn_one_by_one(self):
        labels = np.repeat([0, 1], 30)
        alone = split_images(make(labels, groups=np.full(60, -1)), seed=2)
        plain = split_images(make(labels), seed=2)
        np.testing.assert_array_equal(alone.splits, plain.splits)

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        st.lists(st.tuples(st.integers(0, 4), st.integers(-1, 6)), min_size=1, max_size=40),
        st.floats(0.01, 0.9),
    )
    def test_no_group_is_split_and_no_class_leaves_training(self, rows, val):
        labels, groups = map(np.array, zip(*rows, strict=True))
        split = split_images(make(labels, groups=groups), seed=0, val=val)
        for group in set(groups.tolist()) - {-1}:
            assert len(set(split.splits[groups == group])) == 1
        assert set(labels[split.splits == "train"]) == set(labels)
