"""Heat maps: contributions of parts drawn over an image, red for a class and blue against it."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Bytes, Float
from myriad.signatures.explanations.contributions import Contributions

SIDE = 160
"""Pixels of the longer side of a heat map."""
FOR, AGAINST = (215, 48, 31), (33, 102, 172)
"""Colours in RGB of parts that raise the score of the class, and of those that lower it."""
STRENGTH = 0.75
"""Opacity of the strongest part."""


def make_heat_map(
    contributions: Contributions, values: NDArray[np.float64], height: int, width: int
) -> Float:
    """Return the contribution of every pixel of a heat map with the proportions of an image.

    A part is spread evenly over its box, as far as it is inside the image: the sum over all pixels
    is the sum of the parts.

    Parameters
    ----------
    values : float64 array of shape (n_parts,).
    height, width : of the image.

    Returns
    -------
    float32 array whose longer side has `SIDE` pixels.
    """
    scale = SIDE / max(height, width)
    rows, columns = max(1, round(height * scale)), max(1, round(width * scale))
    # A box is the sum of four corners: values are added there, and summed up along both axes.
    limits = np.array([columns, rows, columns, rows])
    edges = np.rint(contributions.boxes * limits).astype(np.int64)
    left, top = np.clip(edges[:, 0], 0, columns - 1), np.clip(edges[:, 1], 0, rows - 1)
    right = np.clip(edges[:, 2], left + 1, columns)
    bottom = np.clip(edges[:, 3], top + 1, rows)
    density = values / ((right - left) * (bottom - top))
    corners = np.zeros((rows + 1, columns + 1))
    np.add.at(corners, (top, left), density)
    np.add.at(corners, (bottom, right), density)
    np.add.at(corners, (top, right), -density)
    np.add.at(corners, (bottom, left), -density)
    return corners.cumsum(axis=0).cumsum(axis=1)[:rows, :columns].astype(np.float32)


def colour_heat_map(heat: Float) -> Bytes:
    """Return a heat map as a transparent picture: uint8 of shape (rows, columns, 4), RGBA.

    The deviation from the mean is shown: a class that is scored high everywhere, or low, still has
    parts that contribute more than others. The opacity is proportional to the deviation. Edges of
    boxes are smoothed.
    """
    deviations = cv2.GaussianBlur(heat - heat.mean(), (0, 0), SIDE / 50)
    strongest = float(np.quantile(np.abs(deviations), 0.99))
    strength = np.clip(np.abs(deviations) / (strongest or 1.0), 0, 1)
    picture = np.empty((*heat.shape, 4), np.uint8)
    picture[..., :3] = np.where(deviations[..., None] > 0, FOR, AGAINST)
    picture[..., 3] = np.rint(255 * STRENGTH * strength)
    return picture


def encode_heat_map(heat: Float) -> bytes:
    """Return a heat map as a transparent PNG file, to be laid over the image."""
    done, coded = cv2.imencode(".png", cv2.cvtColor(colour_heat_map(heat), cv2.COLOR_RGBA2BGRA))
    assert done
    return coded.tobytes()


def draw_heat_map(image: Bytes, heat: Float) -> Bytes:
    """Return an image with a heat map over its grey values: uint8 (height, width, 3), RGB."""
    height, width = image.shape[:2]
    grey = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    below = np.repeat(np.asarray(grey, np.float32)[..., None], 3, axis=2)
    over = colour_heat_map(heat)
    opacity = _enlarge(over[..., 3] / np.float32(255), height, width)[..., None]
    # Colours are mixed with their opacity, or the border of red and blue would turn dark.
    premultiplied = over[..., :3] * (over[..., 3:] / np.float32(255))
    colour = _enlarge(premultiplied, height, width)
    return np.rint(below * (1 - opacity) + colour).clip(0, 255).astype(np.uint8)


def _enlarge(values: NDArray[np.floating], height: int, width: int) -> Float:
    resized = cv2.resize(values.astype(np.float32), (width, height), interpolation=cv2.INTER_LINEAR)
    return np.asarray(resized, np.float32)
