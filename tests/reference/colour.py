"""Local colour statistics as they are defined: float64, patch by patch, cell by cell."""

import numpy as np


def describe(image, centres, bin_width):
    """Return the statistics around centres (x, y) in pixels of a colour image, one bin width."""
    height, width, _ = image.shape
    values = image.astype(np.float64) / 255
    found = []
    for cx, cy in centres:
        numbers = []
        for by in range(4):
            for bx in range(4):
                y0, y1 = (int(np.floor(cy + 1 + (by + i - 2) * bin_width)) for i in (0, 1))
                x0, x1 = (int(np.floor(cx + 1 + (bx + i - 2) * bin_width)) for i in (0, 1))
                cell = values[max(y0, 0) : min(y1, height), max(x0, 0) : min(x1, width)]
                pixels = cell.reshape(-1, 3)
                numbers += [*pixels.mean(axis=0), *pixels.std(axis=0)]
        found.append(numbers)
    return np.array(found)
