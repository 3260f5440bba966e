"""Processor time of the first commands after installation, and of later ones.

    python benchmarks/startup.py predict --out benchmarks/results/startup.json
    python benchmarks/startup.py demo --out benchmarks/results/startup_demo.json   # minutes

The first command of a kind compiles the kernels that it needs; they are cached. Processor time is
that of the whole command with its worker processes, so that other work on the machine counts
little. The import of NumPy alone is measured in the same run, as a unit for other machines.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from record import describe_run, write_results

COMMAND = "from myriad.cli.start import run; run()"
SIGNATURES = {"network": "efficientnet-lite0+efficientnet-lite2", "fisher": "fisher"}


class Shell:
    """Runs commands in a folder with a cache of kernels of its own, and measures each of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kernels = folder, folder / "kernels"
        self.environment = os.environ | {
            "NUMBA_CACHE_DIR": str(self.kernels),
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        }
        # An installation has bytecode; here the first command of all writes it.
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(self, code: str, *words: object) -> dict[str, float]:
        """Run Python with some arguments; return processor and elapsed time in seconds."""
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", code, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            check=True,
            capture_output=True,
        )
        seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"processor": round(processor, 2), "elapsed": round(seconds, 2)}

    def myriad(self, *words: object) -> dict[str, float]:
        """Run the command."""
        return self.run(COMMAND, *words, "--quiet", "--json")

    def forget_kernels(self) -> None:
        """Empty the cache of compiled kernels."""
        shutil.rmtree(self.kernels, ignore_errors=True)


def measure_predict(shell: Shell, signature: str, repeats: int) -> dict[str, Any]:
    """Return the time of the first prediction of an image, and the median of later ones."""
    if not (shell.folder / signature).exists():
        words = ["--signature", SIGNATURES[signature], "--objective", "means"]
        shell.myriad("train", "drawn/images", "--out", signature, *words)
    image = next(iter(sorted((shell.folder / "drawn/images/test").rglob("*.png"))))
    shell.forget_kernels()
    shell.run("import myriad.pipelines.predicting.predict")  # writes bytecode
    first = shell.myriad("predict", signature, image)
    later = [shell.myriad("predict", signature, image) for _ in range(repeats)]
    median = statistics.median(one["processor"] for one in later)
    return {"first": first["processor"], "later": median}


def measure_predictions(shell: Shell, repeats: int) -> dict[str, Any]:
    """Return the time of the import of NumPy, and of predictions with both signatures."""
    if not (shell.folder / "drawn").exists():
        drawn = ["--classes", 10, "--images", 10, "--objective", "means", "--out", "drawn"]
        shell.myriad("demo", *drawn)
    numpy = [shell.run("import numpy")["processor"] for _ in range(repeats)]
    found: dict[str, Any] = {"import numpy": statistics.median(numpy)}
    return found | {name: measure_predict(shell, name, repeats) for name in SIGNATURES}


def measure_demo(shell: Shell) -> dict[str, Any]:
    """Return the times of the demo with no kernels in the cache, and with all of them."""
    shell.run("import myriad.pipelines.demo, myriad.cli.demo, myriad.report")
    cold, warm = (shell.myriad("demo") for _ in range(2))
    ratio = {name: round(cold[name] / warm[name], 2) for name in cold}
    return {"cold": cold, "warm": warm, "cold / warm": ratio}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["predict", "demo"])
    parser.add_argument("--repeats", type=int, default=5, help="later predictions to measure")
    parser.add_argument("--work", type=Path, help="a folder whose models are used, if it has any")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell((options.work or Path(folder)).absolute())
        if options.what == "predict":
            found = measure_predictions(shell, options.repeats)
        else:
            found = measure_demo(shell)
    for name, measured in found.items():
        print(name, measured)
    write_results(options.out, {**describe_run(), "seconds": found})


if __name__ == "__main__":
    main()
