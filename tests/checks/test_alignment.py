import cv2
import numpy as np
import pytest

from myriad.checks.alignment import (
    COARSE_CORRELATION,
    DETAIL,
    _match,
    coarsen,
    correlate,
    correlate_coarsely,
    make_grey_thumbnail,
    match_thumbnails,
)
from tests.checks.scenes import COPIES, copy_of, photograph, thumbnail


@pytest.mark.parametrize("kind", COPIES)
def test_a_copy_matches_its_original(kind):
    for seed in range(8):
        match = match_thumbnails(thumbnail(photograph(seed)), thumbnail(copy_of(kind, seed)))
        assert match is not None
        assert match.mirrored == (kind == "mirrored")
        assert DETAIL <= match.detail <= 1.0


def draw_icon(seed: int, side: int) -> np.ndarray:
    """Return a grey drawing of a few light and dark shapes on white."""
    draws = np.random.default_rng(seed)
    image = np.full((256, 256), 255, np.uint8)
    for grey in (215, 140, 60):
        corner = draws.integers(20, 120, 2)
        cv2.rectangle(image, corner, corner + draws.integers(50, 110, 2), grey, -1)
        centre, radius = draws.integers(60, 196, 2), int(draws.integers(15, 45))
        cv2.circle(image, centre, radius, int(draws.integers(30, 225)), -1)
    return cv2.resize(image, (side, side), interpolation=cv2.INTER_AREA)


def test_smaller_copies_of_small_images_match():
    missed = 0
    for seed in range(8):
        icons = [draw_icon(seed, 28), draw_icon(seed, 17), draw_icon(seed + 1, 17)]
        first, small, other = (make_grey_thumbnail(icon) for icon in icons)
        sizes = np.array([[28, 28], [17, 17]])
        missed += match_thumbnails(first, small) is None
        assert match_thumbnails(first, small, sizes) is not None
        assert match_thumbnails(small, first, sizes[::-1]) is not None
        assert match_thumbnails(first, other, sizes) is None
    assert missed  # where the sizes are not known


def test_overexposed_copies_match():
    missed = 0
    for seed in range(8):
        icon = draw_icon(seed, 96)
        first, bright, other = (
            make_grey_thumbnail(np.minimum(one * gain, 255).astype(np.uint8))
            for one, gain in ((icon, 1.0), (icon, 1.6), (draw_icon(seed + 1, 96), 1.6))
        )
        missed += _match(first.astype(np.float32), bright.astype(np.float32)) is None
        assert match_thumbnails(first, bright) is not None
        assert match_thumbnails(bright, first) is not None
        assert match_thumbnails(first, other) is None
    assert missed  # without making the exposures alike


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


def draw_symbol(dot: int, line: int, lobe: int) -> np.ndarray:
    """Return a yin-yang symbol."""
    image = np.full((300, 300), 255, np.uint8)
    cv2.ellipse(image, (150, 150), (130, 130), 0, 90, 270, 0, -1)
    for y, inside, outside in ((85, 255, 0), (215, 0, 255)):
        cv2.circle(image, (150, y), lobe, outside, -1)
        cv2.circle(image, (150, y), dot, inside, -1)
    cv2.circle(image, (150, 150), 130, 0, line)
    return image


def test_two_drawings_of_one_symbol_do_not_match():
    first, second = (thumbnail(draw_symbol(*one)) for one in ((16, 3, 65), (26, 6, 60)))
    assert correlate(first.astype(np.float32), second.astype(np.float32)) > 0.9
    assert match_thumbnails(first, second) is None
    assert match_thumbnails(first, first) is not None


def test_a_symmetric_picture_is_not_taken_for_its_mirror_image():
    half = photograph(3)[:, :100].astype(np.float32)
    whole = np.concatenate([half, half[:, ::-1]], axis=1)
    whole[:, :100] += 12 * np.random.default_rng(0).standard_normal(half.shape)
    whole = whole.clip(0, 255).astype(np.uint8)
    match = match_thumbnails(thumbnail(whole), thumbnail(whole // 2 + 60))
    assert match is not None
    assert not match.mirrored


def test_even_images_are_never_compared():
    even = np.full((32, 32), 200, np.uint8)
    assert match_thumbnails(even, even) is None
    assert correlate(even.astype(np.float32), even.astype(np.float32)) == 0.0


def test_coarse_vectors_are_centred_and_of_norm_one():
    coarse = coarsen(np.stack([thumbnail(photograph(0)), np.zeros((64, 64), np.uint8)]))
    np.testing.assert_allclose(coarse.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(coarse, axis=1), [1, 0], atol=1e-5)
