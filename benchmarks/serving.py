"""The server beside the command and beside Python: images per second, latency, many classes.

python benchmarks/serving.py MODEL IMAGES --out benchmarks/results/serving.json

MODEL takes images; IMAGES is a folder of JPEG files, which are resized to 500 x 375 pixels.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import describe_run, write_results
from serving_client import make_photographs, post, private_bytes, start_server

from myriad.images import read_image
from myriad.models import Decider, LinearModel, ModelFolder, load_model, save_model
from myriad.parallel.threads import hold_blas_to_one_thread

CLIENTS = 32
PARTS = ("latency", "throughput", "many_classes")


def measure_throughput(model: Path, photographs: list[bytes]) -> dict[str, Any]:
    """Return images per second of ``predict`` and of the server with 32 clients."""
    with tempfile.TemporaryDirectory() as folder:
        for i, content in enumerate(photographs):
            Path(folder, f"{i:05d}.jpg").write_bytes(content)
        command = [sys.executable, "-m", "myriad.cli.main", "predict", str(model), folder]
        done = subprocess.run(
            [*command, "--json", "--quiet"], capture_output=True, text=True, check=True
        )
    found = json.loads(done.stdout)
    expected = [one["labels"][0]["label"] for one in found["predictions"]]
    with start_server(model) as (_, port):
        labels, seconds = asyncio.run(send_all(port, photographs))
    served, command_rate = len(photographs) / seconds, len(photographs) / found["seconds"]
    return {
        "images": len(photographs),
        "clients": CLIENTS,
        "predict_images_per_second": round(command_rate, 2),
        "served_images_per_second": round(served, 2),
        "ratio": round(served / command_rate, 3),
        "same_labels": labels == expected,
    }


async def send_all(port: int, photographs: list[bytes]) -> tuple[list[str], float]:
    """Return the best label of each image, and the seconds that all clients needed."""
    labels = [""] * len(photographs)
    numbers = iter(range(len(photographs)))

    async def run_client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for i in numbers:
            status, answer = await post(reader, writer, photographs[i])
            assert status == 200, answer
            labels[i] = answer["predictions"][0]["labels"][0]["label"]
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(run_client() for _ in range(CLIENTS)))
    return labels, time.perf_counter() - began


def measure_latency(model: Path, photographs: list[bytes]) -> dict[str, Any]:
    """Return the milliseconds of one image: in Python, and with one client of the server.

    The two take turns, image by image, so that other programs disturb both alike.
    """
    folder = load_model(model)
    decider, signature = Decider(folder), folder.recipe
    assert signature is not None

    def call(content: bytes) -> None:
        image = read_image(content, colour=signature.colour, min_pixels=signature.pixels)
        decider.decide(signature.describe(image)[None], 5)

    async def run(port: int) -> tuple[list[float], list[float]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        python, served = [], []
        for content in [photographs[0], *photographs]:
            began = time.perf_counter()
            call(content)
            python.append(time.perf_counter() - began)
            began = time.perf_counter()
            status, _ = await post(reader, writer, content)
            served.append(time.perf_counter() - began)
            assert status == 200
        writer.close()
        return python[1:], served[1:]

    with start_server(model) as (_, port), hold_blas_to_one_thread():
        python, served = asyncio.run(run(port))
    result: dict[str, Any] = {"images": len(python)}
    for name, share in (("median", 50), ("p99", 99)):
        ours, theirs = (1000 * float(np.percentile(some, share)) for some in (served, python))
        result |= {
            f"{name}_python_ms": round(theirs, 2),
            f"{name}_served_ms": round(ours, 2),
            f"{name}_more_ms": round(ours - theirs, 2),
        }
    return result


def measure_many_classes(n_classes: int, dim: int) -> dict[str, Any]:
    """Return start, first answer and memory of a model of many classes, beside ``predict``."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as place:
        model = Path(place, "many.model")
        weights = rng.standard_normal((n_classes, dim), dtype=np.float32)
        names = [f"class {c}" for c in range(n_classes)]
        linear = LinearModel(weights, np.zeros(n_classes, np.float32))
        save_model(model, ModelFolder(linear, names, None, {}), card="")
        rows = Path(place, "rows.npy")
        np.save(rows, rng.standard_normal((8, dim), dtype=np.float32))
        peak = measure_predict(model, rows)
        began = time.perf_counter()
        with start_server(model) as (server, port):
            started = time.perf_counter() - began

            async def ask() -> float:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                began = time.perf_counter()
                status, _ = await post(reader, writer, rows.read_bytes())
                assert status == 200
                writer.close()
                return time.perf_counter() - began

            first = asyncio.run(ask())
            memory = private_bytes(server.pid)
    return {
        "classes": n_classes,
        "features": dim,
        "start_seconds": round(started, 2),
        "first_answer_seconds": round(first, 3),
        "private_megabytes": round(memory / 1e6),
        "predict_private_megabytes": round(peak / 1e6),
    }


def measure_predict(model: Path, rows: Path) -> int:
    """Return the most private memory that ``predict`` takes."""
    command = [sys.executable, "-m", "myriad.cli.main", "predict", str(model), str(rows)]
    process = subprocess.Popen([*command, "--json", "--quiet"], stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, private_bytes(process.pid))
        time.sleep(0.02)
    return peak


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--count", type=int, default=600, help="images sent")
    parser.add_argument("--classes", type=int, default=100_000, help="of the large model")
    parser.add_argument("--dim", type=int, default=256, help="features of the large model")
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure, with commas")
    parser.add_argument("--out", type=Path, help="a JSON file to write; other parts in it are kept")
    options = parser.parse_args()
    photographs = make_photographs(options.images, options.count)
    work = {
        "latency": lambda: measure_latency(options.model, photographs[:200]),
        "throughput": lambda: measure_throughput(options.model, photographs),
        "many_classes": lambda: measure_many_classes(options.classes, options.dim),
    }
    kept = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    results = {name: kept[name] for name in PARTS if name in kept}
    for name in options.parts.split(","):
        results[name] = work[name]()
        print(name, results[name], flush=True)
    write_results(options.out, {**describe_run(), **results})


if __name__ == "__main__":
    main()
