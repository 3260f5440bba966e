"""Images per second from files to coded rows, one worker process against several.

    python benchmarks/extraction.py FOLDER                       # a folder of images per class
    python benchmarks/extraction.py FOLDER --out benchmarks/results/extraction.json

The signature has 131,072 dimensions (dense SIFT at 5 scales, 256 Gaussians, 4 regions), rows are
product-coded. The vocabulary is learned once and not timed. The time until the first images are
described, when all workers have started, is reported separately: it occurs once in a run.
"""

from __future__ import annotations

import argparse
import time
from itertools import islice
from pathlib import Path

import numpy as np
from record import describe_run, write_results

from myriad.codes import Code, learn_product
from myriad.images import ImageList, find_images
from myriad.pipelines.describing.image_rows import SampledImages, describe_images, open_workers
from myriad.randomness import generator
from myriad.signatures import Signature, learn_fisher

SAMPLE = 64
"""Images that the vocabulary and the code are learned from: enough to measure with."""


def learn(images: ImageList, components: int) -> tuple[Signature, Code]:
    """Learn a signature and a code from some images."""
    chosen = np.arange(min(SAMPLE, len(images)))
    with open_workers(None, len(images)) as executor:
        sampled = SampledImages(images, chosen, 0.1, executor)
        signature = learn_fisher(sampled, n_components=components, sample=100_000)
        rows = [row for _, row in describe_images(images, chosen.tolist(), signature, executor)]
    code = learn_product(np.stack(rows)[:, : signature.dim], period=signature.period)
    return signature, code


def time_workers(
    images: ImageList, signature: Signature, code: Code, workers: int
) -> tuple[float, float]:
    """Return the seconds until the first images are described, and images per second after."""
    began = time.perf_counter()
    with open_workers(workers, len(images)) as executor:
        described = describe_images(images, range(len(images)), signature, executor, code=code)
        first = sum(1 for _ in islice(described, executor.chunksize * workers))
        start = time.perf_counter()
        for _ in described:
            pass
    return start - began, (len(images) - first) / (time.perf_counter() - start)


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="images, a sub-folder per class")
    parser.add_argument("--images", type=int, default=300)
    parser.add_argument("--components", type=int, default=256)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    found = find_images(options.folder)
    order = generator(0, "images to time").permutation(len(found))
    images = found.select(order[: options.images])
    signature, code = learn(images, options.components)
    rows = []
    for n in options.workers:
        start, rate = time_workers(images, signature, code, n)
        rows.append(
            {"workers": n, "seconds_to_start": round(start, 2), "images_a_second": round(rate, 2)}
        )
        times = rows[-1]["times_the_first"] = round(rate / rows[0]["images_a_second"], 3)
        print(f"{n} workers: {rate:.2f} images/s after {start:.2f} s, {times} times the first")
    run = {"images": len(images), "dim": signature.dim, "rows": rows}
    write_results(options.out, describe_run() | run)


if __name__ == "__main__":
    main()
