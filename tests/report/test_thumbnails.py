from __future__ import annotations

import base64

import cv2
import numpy as np
import pytest

from myriad.report.thumbnails import Thumbnails, encode_thumbnail


def decode(address: str | None) -> np.ndarray:
    assert address is not None
    head, _, coded = address.partition(",")
    assert head == "data:image/jpeg;base64"
    image = cv2.imdecode(np.frombuffer(base64.b64decode(coded), np.uint8), cv2.IMREAD_UNCHANGED)
    return image if image.ndim == 2 else image[..., ::-1]


def test_middle_square_in_its_colours() -> None:
    image = np.zeros((200, 400, 3), np.uint8)
    image[:, 100:200] = (255, 0, 0)
    image[:, 200:300] = (0, 0, 255)
    image[:, :100] = image[:, 300:] = 255  # must be cut away
    seen = decode(encode_thumbnail(image)).astype(int)
    assert seen.shape == (96, 96, 3)
    assert np.abs(seen[20:70, 10:35] - (255, 0, 0)).max() < 12
    assert np.abs(seen[20:70, 60:85] - (0, 0, 255)).max() < 12


def test_grey_and_small_images_keep_their_form() -> None:
    image = np.full((28, 30), 77, np.uint8)
    seen = decode(encode_thumbnail(image))
    assert seen.shape == (28, 28)
    assert np.abs(seen.astype(int) - 77).max() <= 2


def test_extreme_shapes() -> None:
    assert decode(encode_thumbnail(np.zeros((1, 5000, 3), np.uint8))).shape == (1, 1, 3)
    flipped = np.zeros((50, 60, 3), np.uint8)[::-1, :, ::-1]
    assert decode(encode_thumbnail(flipped)).shape == (50, 50, 3)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((4, 4, 4), np.uint8),
        np.zeros(4, np.uint8),
        np.zeros((4, 4)),
        np.zeros((0, 0), "u1"),
    ],
)
def test_what_is_no_image_has_no_thumbnail(array: np.ndarray) -> None:
    assert encode_thumbnail(array) is None


def test_images_are_read_once() -> None:
    asked = []

    def read_image(path: str) -> np.ndarray | None:
        asked.append(path)
        return np.zeros((9, 9), np.uint8) if path == "here" else None

    thumbnails = Thumbnails(read_image)
    assert thumbnails.find(None) is None
    assert thumbnails.find("here") == thumbnails.find("here")
    assert thumbnails.find("gone") is thumbnails.find("gone") is None
    assert asked == ["here", "gone"]
