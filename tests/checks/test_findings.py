import numpy as np

from myriad.checks.duplicates import DuplicatePair
from myriad.checks.findings import (
    Sample,
    find_bad,
    find_class_faults,
    find_duplicate_faults,
    find_odd_images,
    group_duplicates,
)


def make_sample(labels, splits=None, names=("a", "b", "c"), bad=()):
    splits = np.array([""] * len(labels) if splits is None else splits, "<U5")
    paths = [f"{i}.jpg" for i in range(len(labels))]
    return Sample("image", paths, np.array(labels, np.int32), list(names), splits, bad)


def test_groups_that_leak_come_first():
    sample = make_sample(
        [0, 0, 0, 1, 0, 0, 2], ["train", "train", "train", "train", "test", "train", "val"]
    )
    pairs = [
        DuplicatePair(0, 1, 1.0),
        DuplicatePair(2, 3, 0.9),
        DuplicatePair(4, 5, 0.8, mirrored=True),
    ]
    leak, several, plain = group_duplicates(pairs, sample)
    assert (leak.items, leak.leaks, leak.mirrored, leak.exact) == ([4, 5], True, True, False)
    assert (several.items, several.contradicts, several.classes) == ([2, 3], True, [0, 1])
    assert (plain.items, plain.exact, plain.leaks, plain.contradicts) == (
        [0, 1],
        True,
        False,
        False,
    )


def test_one_near_pair_makes_a_group_inexact():
    pairs = [DuplicatePair(0, 1, 1.0), DuplicatePair(1, 2, 0.9)]
    (group,) = group_duplicates(pairs, make_sample([0, 0, 0]))
    assert (group.items, group.exact) == ([0, 1, 2], False)


def test_an_image_without_a_split_does_not_leak():
    (group,) = group_duplicates([DuplicatePair(0, 1, 1.0)], make_sample([0, 0], ["", "test"]))
    assert not group.leaks


def test_what_duplicates_do():
    sample = make_sample(
        [0, 0, 0, 1, 2, 2, 0, 0],
        ["train", "test", "train", "train", "train", "train", "val", "val"],
    )
    pairs = [
        DuplicatePair(0, 1, 1.0),
        DuplicatePair(2, 3, 0.9),
        DuplicatePair(4, 5, 1.0),
        DuplicatePair(6, 7, 0.7),
    ]
    found = find_duplicate_faults(sample, group_duplicates(pairs, sample))
    assert [(one.kind, one.serious, one.count) for one in found] == [
        ("leak", True, 1),
        ("contradiction", True, 1),
        ("copies", False, 1),
        ("near", False, 1),
    ]
    assert "1 of 1 test images are also in train" in found[0].sentence
    assert "'a' and 'b'" in found[1].sentence
    assert "2 images form 1 group" in found[3].sentence


def test_few_bad_files_are_not_serious():
    bad = [{"path": "x", "reason": "empty file"}]
    (found,) = find_bad(make_sample([0] * 30, bad=bad))
    assert not found.serious
    assert "1 of 31 images cannot be read and would be left out: empty file (1)" in found.sentence
    (found,) = find_bad(make_sample([0] * 3, bad=bad))
    assert found.serious
    assert find_bad(make_sample([0])) == []


def test_sizes_and_names_of_classes():
    labels = [0] * 200 + [1] * 5 + [2] * 3
    found = find_class_faults(make_sample(labels), [["Robin", "robin"]])
    assert [(one.kind, one.serious) for one in found] == [
        ("names", True),
        ("few", False),
        ("uneven", False),
    ]
    assert "'Robin' and 'robin'" in found[0].sentence
    assert "1 class has fewer than 5 images; 'c' has 3" in found[1].sentence
    assert "40 times" in found[2].sentence


def test_classes_without_training_images():
    splits = ["train"] * 10 + ["test"]
    (found,) = find_class_faults(make_sample([0] * 5 + [1] * 5 + [2], splits), [])
    assert (found.kind, found.serious) == ("untrained", True)
    assert "'c'." in found.sentence


def test_a_single_class():
    (found,) = find_class_faults(make_sample([0] * 5), [])
    assert (found.kind, found.serious) == ("single", True)
    assert found.sentence == "There is only one class, 'a': a model needs at least two."


def test_sentences_of_odd_images():
    odd, usual = find_odd_images({"dark": [3]}, {"tiny": 40})
    assert odd.sentence.startswith("1 image is dark: nearly black.")
    assert "normal for these data" in usual.sentence


def test_counts_of_classes():
    sample = make_sample([0, 1, 1, -1], ["train", "train", "test", "test"])
    assert sample.count_classes().tolist() == [1, 2, 0]
    assert sample.count_classes("test").tolist() == [0, 1, 0]
    assert sample.stated_splits == ["train", "test"]
