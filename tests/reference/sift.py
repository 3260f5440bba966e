"""Dense SIFT as it is defined: float64, patch by patch, pixel by pixel."""

from functools import cache

import numpy as np
from scipy.ndimage import gaussian_filter


def oriented_gradient(image):
    """Return the gradient magnitude of each pixel shared over 8 orientations: shape (h, w, 8)."""
    gy, gx = np.gradient(image)
    angle = np.arctan2(gy, gx) % (2 * np.pi) / (np.pi / 4)
    magnitude = np.hypot(gx, gy)
    planes = np.zeros((*image.shape, 8))
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            low = int(angle[y, x])
            share = angle[y, x] - low
            planes[y, x, low % 8] += magnitude[y, x] * (1 - share)
            planes[y, x, (low + 1) % 8] += magnitude[y, x] * share
    return planes


def smooth(image, deviation):
    """Return the image smoothed to this deviation; it is taken to be smooth by 0.5 already."""
    sigma = np.sqrt(max(deviation**2 - 0.25, 0.0))
    return gaussian_filter(image, sigma, mode="nearest", truncate=4) if sigma > 0 else image


@cache
def mean_bell(offset):
    """Return the mean of the window over a bin that is two bins wide, `offset` bins off centre."""
    return np.exp(-0.5 * (np.linspace(offset - 1, offset + 1, 2001) / 2.0) ** 2).mean()


def histogram(planes, cx, cy, bin_width, flat=False):
    """Return the raw 4 x 4 x 8 histogram around (cx, cy), every pixel with its exact weight.

    With a flat window the Gaussian is replaced by its mean over each bin.
    """
    height, width, _ = planes.shape
    raw = np.zeros((4, 4, 8))
    for y in range(height):
        for x in range(width):
            dx, dy = (x - cx) / bin_width, (y - cy) / bin_width
            if abs(dx) >= 2.5 or abs(dy) >= 2.5:
                continue
            bell = np.exp(-(dx**2 + dy**2) / (2 * 2.0**2))
            for by in range(4):
                for bx in range(4):
                    wy = 1 - abs(dy - (by - 1.5))
                    wx = 1 - abs(dx - (bx - 1.5))
                    if flat:
                        bell = mean_bell(bx - 1.5) * mean_bell(by - 1.5)
                    if wy > 0 and wx > 0:
                        raw[by, bx] += bell * wy * wx * planes[y, x]
    return raw.ravel()


def normalise(raw):
    """Return a histogram normalised: L2, clamp at 0.2, L2."""
    clamped = np.minimum(raw / np.linalg.norm(raw), 0.2)
    return clamped / np.linalg.norm(clamped)


def describe(image, centres, bin_width, smoothing, flat=False):
    """Return the descriptors of a grey image in [0, 1] at centres (x, y), of one bin width."""
    planes = oriented_gradient(smooth(image, smoothing * bin_width))
    raw = [histogram(planes, x, y, bin_width, flat) for x, y in centres]
    return np.stack([normalise(one) for one in raw])
