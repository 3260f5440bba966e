import cv2
import numpy as np
import pytest

from myriad.checks.quality import KINDS, find_image_faults, group_image_faults
from myriad.images.facts import Header, measure_quality
from tests.checks.scenes import photograph

USUAL = Header("JPEG", 640, 480, "RGB")


def judge(image, header=USUAL):
    return find_image_faults(header, measure_quality(image))


@pytest.mark.parametrize("side", [64, 128, 600])
def test_photographs_are_not_odd(side):
    for seed in range(5):
        assert judge(photograph(seed, side, side)) == []


@pytest.mark.parametrize("side", [96, 256, 800])
def test_blurred_photographs_are_found_at_any_size(side):
    for seed in range(5):
        blurred = cv2.GaussianBlur(photograph(seed, side, side), (0, 0), 0.04 * side)
        assert judge(blurred) == ["blurred"]


def test_dark_bright_and_blank_images_are_found():
    image = photograph(0)
    assert judge(image // 6) == ["dark"]
    assert judge(215 + image // 5) == ["bright"]
    assert judge(np.full((50, 50, 3), 90, np.uint8)) == ["blank"]
    speck = np.full((60, 60), 255, np.uint8)
    speck[20:23, 20:40] = 0
    assert judge(speck)[0] in ("blank", "bright", "empty")


def test_tiny_and_huge_images_are_found():
    assert judge(photograph(0), Header("PNG", 31, 200, "RGB")) == ["tiny"]
    assert judge(photograph(0), Header("PNG", 32, 200, "RGB")) == []
    assert judge(photograph(0), Header("JPEG", 8000, 6000, "RGB")) == ["huge"]
    assert judge(photograph(0), Header("TIFF", 0, 0, "")) == []


def test_a_kind_that_is_usual_is_not_listed():
    faults = [["dark"]] * 5 + [["tiny"]] * 30 + [[]] * 65
    odd, usual = group_image_faults(faults)
    assert odd == {"dark": [0, 1, 2, 3, 4]}
    assert usual == {"tiny": 30}
    assert set(odd) | set(usual) <= set(KINDS)
