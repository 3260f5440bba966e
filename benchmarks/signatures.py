"""Milliseconds of processor time for each stage from an image to its signature, on one thread.

    python benchmarks/signatures.py                     # a table, about 10 s
    python benchmarks/signatures.py --mixture           # also learns from 1M descriptors, a minute
    python benchmarks/signatures.py --vlfeat            # also by VLFeat, if libvlfeat1 is installed
    python benchmarks/signatures.py --out benchmarks/results/signatures.json

The image is 370 x 270, drawn with the spectrum of photographs; the signature has 131,072 dimensions
(dense SIFT at 5 scales, PCA to 62, x and y, 256 Gaussians, 4 regions).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from record import describe_run, write_results
from threadpoolctl import threadpool_limits
from vlfeat import VLFeat

from myriad.arrays import Bytes
from myriad.descriptors import DenseSIFT, LocalColour, SiftColour
from myriad.descriptors.sampling import sample_descriptors
from myriad.parallel import LearningContext
from myriad.signatures import FisherSignature, learn_fisher
from myriad.signatures.fisher import fisher_vectors
from myriad.signatures.learning import append_coordinates
from myriad.signatures.pyramid import normalise_regions, pyramid_of
from myriad.vocabularies import learn_mixture, learn_pca

HEIGHT, WIDTH = 270, 370


def draw_image(seed: int) -> Bytes:
    """Return a random image whose amplitudes fall with frequency, as those of photographs do."""
    noise = np.random.default_rng(seed).standard_normal((HEIGHT, WIDTH))
    fy, fx = np.fft.fftfreq(HEIGHT)[:, None], np.fft.fftfreq(WIDTH)
    falling = np.fft.fft2(noise) / np.maximum(np.hypot(fy, fx), 1 / WIDTH)
    image = np.fft.ifft2(falling).real
    image = (image - image.min()) / (image.max() - image.min())
    return (image * 255).astype(np.uint8)


def time_stage(run: Callable[[], object], repeats: int) -> float:
    """Return the median time of a stage in milliseconds, after one run to warm up."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(1000 * (time.process_time() - start))
    return round(statistics.median(times), 2)


def time_stages(signature: FisherSignature, image: Bytes, repeats: int) -> dict[str, float]:
    """Return the milliseconds of each stage."""
    pyramid = pyramid_of(signature.regions)
    local = signature.descriptor.describe(image)
    values = append_coordinates(signature.pca.project(local.values), local.positions)
    mixture, positions = signature.mixture, local.positions
    ten_thousand, places = values[:10_000], positions[:10_000]
    vectors = fisher_vectors(values, positions, mixture, pyramid)
    flat, colours, both = DenseSIFT(window="flat"), LocalColour(), SiftColour()
    painted = np.ascontiguousarray(np.stack([image, image[::-1], image[:, ::-1]], axis=2))
    stages: dict[str, Callable[[], object]] = {
        "dense SIFT, Gaussian window": lambda: signature.descriptor.describe(image),
        "dense SIFT, flat window": lambda: flat.describe(image),
        "local colour statistics": lambda: colours.describe(painted),
        "dense SIFT and local colour": lambda: both.describe(painted),
        "PCA 128 to 62": lambda: signature.pca.project(local.values),
        "Fisher vector, 10,000 x 64, 256 Gaussians, 1 region": lambda: fisher_vectors(
            ten_thousand, places, mixture, pyramid_of(1)
        ),
        "Fisher vector, all descriptors, 4 regions": lambda: fisher_vectors(
            values, positions, mixture, pyramid
        ),
        "power and norms": lambda: normalise_regions(vectors, power=0.5),
        "whole image to signature": lambda: signature.describe(image),
    }
    return {name: time_stage(run, repeats) for name, run in stages.items()}


def time_vlfeat(signature: FisherSignature, image: Bytes, repeats: int) -> dict[str, float]:
    """Return the milliseconds that VLFeat takes for the same stages."""
    found = {}
    for window in ("Gaussian", "flat"):
        vlfeat = VLFeat(signature, flat_window=window == "flat")
        name = f"VLFeat: dense SIFT, {window} window"
        found[name] = time_stage(partial(vlfeat.describe_patches, image), repeats)
    descriptors, positions = vlfeat.describe_patches(image)
    values = append_coordinates(signature.pca.project(descriptors), positions)
    name = "VLFeat: Fisher vectors of all regions"
    found[name] = time_stage(lambda: vlfeat.encode(values, positions), repeats)
    name = "VLFeat: whole image to signature, flat window"
    return found | {name: time_stage(lambda: vlfeat.describe(image), repeats)}


def compare_vlfeat(signature: FisherSignature, image: Bytes) -> float:
    """Return the cosine of our Fisher vector and VLFeat's of the same descriptors."""
    local = signature.descriptor.describe(image)
    values = append_coordinates(signature.pca.project(local.values), local.positions)
    pyramid = pyramid_of(signature.regions)
    ours = fisher_vectors(values, local.positions, signature.mixture, pyramid)
    theirs = VLFeat(signature, flat_window=True).encode(values, local.positions)
    ours = normalise_regions(ours, power=0.5).ravel()
    cosine = ours @ theirs / np.linalg.norm(ours) / np.linalg.norm(theirs)
    return round(float(cosine), 6)


def time_mixture(threads: int) -> dict[str, float]:
    """Return the seconds of learning 256 Gaussians from a million descriptors in 15 rounds."""
    images = [draw_image(seed) for seed in range(100)]
    context = LearningContext(threads=threads)
    values = sample_descriptors(
        images, DenseSIFT(), most=1_000_000, per_image=10_000, context=context
    )
    projected = learn_pca(values, 64).project(values)
    start = time.perf_counter()
    learn_mixture(projected, 256, context, rounds=15)
    return {
        f"mixture, {len(projected):,} x 64, 256 Gaussians, 15 rounds, {threads} threads": round(
            time.perf_counter() - start, 1
        )
    }


def main() -> None:
    """Measure, print a table, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument(
        "--mixture", action="store_true", help="also time the learning of a mixture"
    )
    parser.add_argument("--vlfeat", action="store_true", help="also time VLFeat")
    parser.add_argument("--threads", type=int, default=2, help="for the mixture only")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    image = draw_image(1000)
    with threadpool_limits(limits=1):
        signature = learn_fisher([draw_image(s) for s in range(20)], sample=100_000)
        stages = time_stages(signature, image, options.repeats)
        if options.vlfeat:
            stages |= time_vlfeat(signature, image, options.repeats)
    results = {
        **describe_run(),
        "image": [WIDTH, HEIGHT],
        "descriptors": len(signature.descriptor.describe(image)),
        "dim": signature.dim,
        "cosine_to_vlfeat": compare_vlfeat(signature, image) if options.vlfeat else None,
        "milliseconds": stages,
        "seconds": time_mixture(options.threads) if options.mixture else {},
    }
    for unit in ("milliseconds", "seconds"):
        for name, value in results[unit].items():
            print(f"{name:<75}{value:>9} {unit}")
    write_results(options.out, results)


if __name__ == "__main__":
    main()
