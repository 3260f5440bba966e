import numpy as np
import pytest
from PIL import Image

from myriad.images.facts import measure_quality, read_header
from myriad.images.reading import BadImage
from tests.images.pictures import colour_picture, encode, encode_float_tiff


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "TIFF", "BMP", "WebP"])
def test_header(form):
    header = read_header(encode(colour_picture(40, 64), form.upper()))
    assert (header.format, header.width, header.height) == (form, 64, 40)
    assert header.mode == ("P" if form == "GIF" else "RGB")


def test_modes():
    grey = Image.fromarray(np.zeros((4, 5), np.uint8))
    assert read_header(encode(grey, "PNG")).mode == "L"
    assert read_header(encode(grey.convert("CMYK"), "JPEG")).mode == "CMYK"


def test_what_pillow_does_not_read_is_unknown():
    picture = np.zeros((4, 5, 3), np.float32)
    header = read_header(encode_float_tiff(picture))
    assert (header.format, header.mode) == ("TIFF", "")


def test_no_image_is_bad():
    with pytest.raises(BadImage, match="not an image"):
        read_header(b"some text")


def test_quality_of_two_grey_values():
    image = np.zeros((128, 128), np.uint8)
    image[:, 64:] = 200
    quality = measure_quality(image)
    assert (quality.dark, quality.bright) == (0.0, 200.0)
    assert quality.entropy == pytest.approx(1.0)
    # The Laplacian is 200 and -200 in the two columns at the edge, and 0 elsewhere.
    assert quality.sharpness == pytest.approx(2 / 128 * 200**2 / 100**2, rel=1e-5)


def test_quality_does_not_depend_on_colour_or_brightness():
    picture = colour_picture(200, 300)
    grey = np.repeat(picture[:, :, :1], 3, axis=2)
    assert measure_quality(grey) == measure_quality(np.ascontiguousarray(grey[:, :, 0]))
    darker = measure_quality(grey // 2)
    assert darker.sharpness == pytest.approx(measure_quality(grey).sharpness, rel=0.05)


def test_constant_image():
    quality = measure_quality(np.full((3, 3), 7, np.uint8))
    assert quality.entropy == 0.0
    assert quality.sharpness == 0.0
