"""Samples of descriptors: bounded, fair, the same on any number of threads."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from myriad.descriptors import Descriptor, LocalDescriptors
from myriad.descriptors.sampling import sample_descriptors
from myriad.errors import InputError
from myriad.parallel import LearningContext
from tests.posting import open_posting


@dataclass(frozen=True, eq=False)
class Pixels(Descriptor):
    """Every pixel is a descriptor: its value, and its number in the image."""

    dim: ClassVar[int] = 2

    def describe(self, image):
        values = np.stack([image.ravel(), np.arange(image.size)], axis=1).astype(np.float32)
        return LocalDescriptors(values, np.zeros((len(values), 2), np.float32))


def images(count, size=100):
    return [np.full((1, size), i, np.uint8) for i in range(count)]


def test_keeps_everything_when_it_fits():
    values = sample_descriptors(images(5), Pixels(), most=1000)
    expected = np.concatenate([Pixels().describe(image).values for image in images(5)])
    np.testing.assert_array_equal(values, expected)


def test_is_bounded_and_fair_to_images_and_places():
    values = sample_descriptors(
        iter(images(200)), Pixels(), most=4000, per_image=50, context=LearningContext(3)
    )
    assert len(values) == 4000
    assert len(np.unique(values, axis=0)) == 4000
    counts = np.bincount(values[:, 0].astype(int), minlength=200)
    assert 0 < counts.min() < counts.max() <= 50
    assert abs(counts[:100].sum() - 2000) < 150  # early images have no advantage
    positions = np.bincount(values[:, 1].astype(int) // 10, minlength=10)
    assert np.all(np.abs(positions - 400) < 100)


def test_per_image_bounds_each_image():
    values = sample_descriptors(images(4), Pixels(), most=1000, per_image=7)
    np.testing.assert_array_equal(np.bincount(values[:, 0].astype(int)), [7] * 4)


def test_of_many_images_no_more_is_drawn_than_is_needed():
    values = sample_descriptors(images(50), Pixels(), most=1500)
    counts = np.bincount(values[:, 0].astype(int), minlength=50)
    assert counts.sum() == 1500
    assert counts.max() <= 40
    few = sample_descriptors(images(50, size=30), Pixels(), most=1500)
    assert len(few) == 1500  # images with fewer than their share give all they have


@pytest.mark.parametrize("threads", [2, 3])
def test_does_not_depend_on_threads(threads):
    one, many = (
        sample_descriptors(
            images(120), Pixels(), most=2500, per_image=40, context=LearningContext(5, number)
        )
        for number in (1, threads)
    )
    np.testing.assert_array_equal(one, many)


def test_descriptors_may_be_left_in_a_folder(tmp_path):
    workers = open_posting(tmp_path / "shared")
    for most in (700, 100_000):
        here, there = (
            sample_descriptors(images(60), Pixels(), most=most, per_image=40, context=context)
            for context in (LearningContext(5), LearningContext(5, workers=workers))
        )
        np.testing.assert_array_equal(here, there)
    assert list(workers.folder.iterdir()) == []


def test_depends_on_the_seed():
    one = sample_descriptors(images(3), Pixels(), most=100)
    other = sample_descriptors(images(3), Pixels(), most=100, context=LearningContext(1))
    assert not np.array_equal(one, other)


def test_no_images_no_descriptors():
    assert sample_descriptors([], Pixels(), most=10).shape == (0, 2)


def test_refuses_no_room():
    with pytest.raises(InputError):
        sample_descriptors([], Pixels(), most=0)


def test_the_lowest_ranks_remain_whenever_the_reservoir_is_compacted():
    """A small reservoir, compacted often, holds a part of what a large one holds, in its order."""
    options = {"per_image": 20, "context": LearningContext(2)}
    large = sample_descriptors(iter(images(90)), Pixels(), most=100_000, **options)
    small = sample_descriptors(iter(images(90)), Pixels(), most=300, **options)
    assert (len(large), len(small)) == (1800, 300)
    positions = [np.flatnonzero((large == row).all(axis=1))[0] for row in small]
    assert positions == sorted(positions)
    less = sample_descriptors(iter(images(90)), Pixels(), most=100, **options)
    assert {tuple(row) for row in less} < {tuple(row) for row in small}
