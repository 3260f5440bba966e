import numpy as np
import pytest

from myriad.checks.alignment import (
    COARSE_CORRELATION,
    coarsen,
    correlate,
    correlate_coarsely,
    match_thumbnails,
)
from tests.checks.scenes import COPIES, copy_of, photograph, thumbnail


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_matches_its_original(kind):
    for seed in range(8):
        match = match_thumbnails(thumbnail(photograph(seed)), thumbnail(copy_of(kind, seed)))
        assert match is not None
        assert match.mirrored == (kind == "mirrored")
        assert 0.5 <= match.detail <= 1.0


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_is_worth_comparing(kind):
    thumbnails = np.stack(
        [thumbnail(one) for seed in range(8) for one in (photograph(seed), copy_of(kind, seed))]
    )
    found = correlate_coarsely(coarsen(thumbnails), np.arange(0, 16, 2), np.arange(1, 16, 2))
    assert found.min() > COARSE_CORRELATION


def test_other_photographs_do_not_match():
    thumbnails = [thumbnail(photograph(seed)) for seed in range(12)]
    for i, first in enumerate(thumbnails):
        assert all(match_thumbnails(first, second) is None for second in thumbnails[:i])


def test_the_same_light_without_the_same_details_does_not_match():
    light = 100 + 3.0 * np.arange(32)[:, None]
    draws = np.random.default_rng(0)
    first, second = (
        np.rint(light + 8 * draws.standard_normal((32, 32))).clip(0, 255).astype(np.uint8)
        for _ in range(2)
    )
    assert correlate(first.astype(np.float32), second.astype(np.float32)) > 0.9
    assert match_thumbnails(first, second) is None


def test_even_images_are_never_compared():
    even = np.full((32, 32), 200, np.uint8)
    assert match_thumbnails(even, even) is None
    assert correlate(even.astype(np.float32), even.astype(np.float32)) == 0.0


def test_coarse_vectors_are_centred_and_of_norm_one():
    coarse = coarsen(np.stack([thumbnail(photograph(0)), np.zeros((32, 32), np.uint8)]))
    np.testing.assert_allclose(coarse.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(coarse, axis=1), [1, 0], atol=1e-5)
