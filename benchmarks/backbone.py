"""Images per second that a network describes on one core, beside ONNX Runtime called alone.

    python benchmarks/backbone.py                       # a few lines, about 20 s
    python benchmarks/backbone.py --network efficientnet-lite2
    python benchmarks/backbone.py --out benchmarks/results/backbone.json

The image is 370 x 270 in colour. ONNX Runtime is given the tensor of this image, ready and with
the same settings; both are timed in turn, by the time of the processor.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from record import describe_run, write_results

from myriad.signatures import open_network
from myriad.signatures.networks.sessions import open_session

HEIGHT, WIDTH = 270, 370


def take_time(function: Callable[[], object]) -> float:
    """Return the seconds of the processor that one call takes, on one thread."""
    began = time.process_time()
    function()
    return time.process_time() - began


def measure(name: str, images: int) -> dict[str, object]:
    """Return the times of one network, medians over all images."""
    backbone = open_network(name)
    image = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    session = open_session(backbone.graph.tobytes, backbone.sha256)
    ready = {session.get_inputs()[0].name: backbone.fit(backbone.cut(image))}
    calls: dict[str, Callable[[], object]] = {
        "all": lambda: backbone.describe(image),
        "alone": lambda: session.run([backbone.output], ready),
        "preparing": lambda: backbone.fit(backbone.cut(image)),
    }
    times: dict[str, list[float]] = {key: [take_time(call)] for key, call in calls.items()}
    for _ in range(images):
        for key, call in calls.items():
            times[key].append(take_time(call))
    seconds = {key: float(np.median(some[1:])) for key, some in times.items()}
    ratios = np.array(times["all"][1:]) / np.array(times["alone"][1:])
    return {
        "network": name,
        "dim": backbone.dim,
        "milliseconds": round(1000 * seconds["all"], 2),
        "milliseconds of ONNX Runtime alone": round(1000 * seconds["alone"], 2),
        "milliseconds of resizing": round(1000 * seconds["preparing"], 2),
        "times ONNX Runtime alone": round(float(np.median(ratios)), 3),
        "images a second and core": round(1 / seconds["all"], 1),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--network", default="efficientnet-lite0,efficientnet-lite2")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = [measure(name, given.images) for name in given.network.split(",")]
    for one in found:
        for name, value in one.items():
            print(f"{name:<36}{value}")
    write_results(given.out, {**describe_run(), "results": found})


if __name__ == "__main__":
    main()
