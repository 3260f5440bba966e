"""Images a second that EfficientNet-Lite0 describes on one core, from pixels to embedding.

    python benchmarks/backbone.py                       # a line, about 10 s
    python benchmarks/backbone.py --out benchmarks/results/backbone.json

The image is 370 x 270 in colour.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from record import describe_run, write_results

from myriad.signatures import open_network

HEIGHT, WIDTH = 270, 370


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--network", default="efficientnet-lite0")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    backbone = open_network(given.network)
    random = np.random.default_rng(0)
    image = random.integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    backbone.describe(image)
    times = []
    for _ in range(given.images):
        began = time.perf_counter()
        backbone.describe(image)
        times.append(time.perf_counter() - began)
    began = time.perf_counter()
    for _ in range(given.images):
        backbone.fit(image)
    fitting = (time.perf_counter() - began) / given.images
    found = {
        "network": given.network,
        "dim": backbone.dim,
        "milliseconds": round(1000 * float(np.median(times)), 2),
        "milliseconds of resizing": round(1000 * fitting, 2),
        "images a second and core": round(1 / float(np.median(times)), 1),
    }
    for name, value in found.items():
        print(f"{name:<26}{value}")
    write_results(given.out, {**describe_run(), "results": found})


if __name__ == "__main__":
    main()
