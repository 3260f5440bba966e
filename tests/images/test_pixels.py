from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageOps

from myriad.images.pixels import flatten_image, make_upright, scale_to_bytes
from tests.images.pictures import colour_picture


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turn_agrees_with_pillow(orientation):
    picture = colour_picture(5, 8)
    image = Image.fromarray(picture)
    image.getexif()[0x0112] = orientation
    expected = np.asarray(ImageOps.exif_transpose(image))
    upright = make_upright(picture, orientation)
    np.testing.assert_array_equal(upright, expected)
    assert upright.flags.c_contiguous


@pytest.mark.parametrize("orientation", [0, 9, None, "6", (6,), 1.5])
def test_orientations_that_mean_nothing(orientation):
    picture = colour_picture(5, 8)
    assert make_upright(picture, orientation) is picture


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[0, 128, 65535]], np.uint16), [0, 0, 255]),
        (np.array([[0, 129, 257]], np.uint16), [0, 1, 1]),
        (np.array([[0.0, 0.5, 1.0]], np.float32), [0, 128, 255]),
        (np.array([[0.0, 51.0, 255.0]], np.float64), [0, 51, 255]),
        (np.array([[0, 257, 65535]], np.int32), [0, 1, 255]),
        (np.array([[0, 7, 255]], np.int32), [0, 7, 255]),
        (np.array([[-1.0, 0.0, 1.0]], np.float32), [0, 128, 255]),
        (np.array([[0, 500_000, 1_000_000]], np.int32), [0, 128, 255]),
        (np.array([[np.nan, np.inf, 1.0]], np.float32), [0, 0, 255]),
        (np.array([[-3.0, -3.0, -3.0]], np.float32), [0, 0, 0]),
        (np.array([[-3e38, 0, 3e38]], np.float32), [0, 128, 255]),
    ],
)
def test_scale(values, expected):
    assert scale_to_bytes(values).tolist() == [expected]


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "L", "1", "P", "RGBA", "LA", "PA", "CMYK", "YCbCr", "HSV"])
def test_a_large_image_is_flattened_as_its_parts_are(mode, colour):
    """It is converted in strips."""
    picture = Image.fromarray(colour_picture(60, 80)).resize((2100, 2100))
    picture.putalpha(picture.getchannel("R"))
    image = picture.convert(mode)
    whole = flatten_image(image, colour=colour)
    assert whole.shape == ((2100, 2100, 3) if colour else (2100, 2100))
    for top in (0, 900, 2000):
        part = flatten_image(image.crop((0, top, 2100, top + 100)), colour=colour)
        np.testing.assert_array_equal(whole[top : top + 100], part)


@pytest.mark.parametrize("mode", ["I;16", "I", "F"])
def test_a_large_deep_image_is_scaled_as_a_whole(mode):
    values = np.zeros((2100, 2100), {"I;16": np.uint16, "I": np.int32, "F": np.float32}[mode])
    values[0, 0], values[-1, -1] = 600, 30_000
    pixels = flatten_image(Image.fromarray(values), colour=True)
    assert (pixels[0, 0, 0], pixels[1, 1, 0], pixels[-1, -1, 0]) == (2, 0, 117)
    np.testing.assert_array_equal(pixels[..., 0], scale_to_bytes(values))
