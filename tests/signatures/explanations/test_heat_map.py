"""Heat maps: sums, boxes beyond the image, colours."""

import cv2
import numpy as np
import pytest

from myriad.signatures.explanations.contributions import Contributions
from myriad.signatures.explanations.heat_map import (
    SIDE,
    colour_heat_map,
    draw_heat_map,
    encode_heat_map,
    make_heat_map,
)


def make_slowly(boxes, values, rows, columns):
    heat = np.zeros((rows, columns))
    for (left, top, right, bottom), value in zip(boxes, values, strict=True):
        x0, y0 = max(0, round(left * columns)), max(0, round(top * rows))
        x1, y1 = min(columns, round(right * columns)), min(rows, round(bottom * rows))
        heat[y0:y1, x0:x1] += value / ((x1 - x0) * (y1 - y0))
    return heat


def test_parts_are_spread_over_their_boxes():
    rng = np.random.default_rng(0)
    corners = rng.uniform(-0.1, 0.8, (50, 2))
    boxes = np.hstack([corners, corners + rng.uniform(0.15, 0.3, (50, 2))])
    values = rng.standard_normal(50)
    heat = make_heat_map(Contributions(boxes, values[:, None]), values, 300, 400)
    assert heat.shape == (SIDE * 3 // 4, SIDE)
    np.testing.assert_allclose(heat, make_slowly(boxes, values, *heat.shape), atol=1e-6)
    assert heat.sum() == pytest.approx(values.sum(), abs=1e-4)


def test_a_box_of_less_than_a_pixel_keeps_its_value():
    boxes = np.array([[0.5, 0.5, 0.5001, 0.5001], [1.0, 1.0, 1.1, 1.1]])
    heat = make_heat_map(Contributions(boxes, np.ones((2, 1))), np.array([1.0, 2.0]), 100, 100)
    assert heat.sum() == pytest.approx(3.0)
    assert heat[-1, -1] == pytest.approx(2.0)


def test_colours_are_red_for_and_blue_against():
    heat = np.zeros((40, 40), np.float32)
    heat[:, :20], heat[:, 20:] = 1.0, -1.0
    picture = colour_heat_map(heat)
    red, blue = picture[20, 2], picture[20, 37]
    assert red[0] > red[2]
    assert blue[2] > blue[0]
    assert red[3] > 150
    assert not colour_heat_map(np.ones((5, 5), np.float32))[..., 3].any()


@pytest.mark.parametrize("shape", [(60, 90), (60, 90, 3), (1, 1), (1, 300, 3)])
def test_images_of_all_shapes_are_drawn_on(shape):
    image = np.full(shape, 100, np.uint8)
    heat = make_heat_map(
        Contributions(np.array([[0.0, 0.0, 0.5, 1.0]]), np.ones((1, 1))), np.ones(1), *shape[:2]
    )
    drawn = draw_heat_map(image, heat)
    assert drawn.shape == (*shape[:2], 3)
    read = cv2.imdecode(np.frombuffer(encode_heat_map(heat), np.uint8), cv2.IMREAD_UNCHANGED)
    assert read.shape == (*heat.shape, 4)
