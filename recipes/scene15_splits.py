"""Scene 15 on fresh random splits, none of which any setting of myriad was chosen by.

Command:   python recipes/scene15_splits.py DATA --out runs/splits [--codes none]
Time:      4 to 6 minutes a split with one thread
Expected:  top-1, mean over classes, mean and deviation of 4 splits: 87.5 +- 0.6 % with the default
           product codes, 87.8 +- 0.8 % with --codes none

The images of DATA/train and DATA/test are put together; of each class 100 are drawn for training,
the rest is for testing. PCA, mixture and codes are learned from training images only, settings are
found on a tenth of them, and every test image is scored once. DATA is the folder of Scene 15, with
a sub-folder a class in train/ and in test/. The images themselves are not new to myriad: its
defaults were found with the usual split of them in view.
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

TRAINING_IMAGES = 100


def draw_split(data: Path, seed: int) -> list[tuple[str, str, str]]:
    """Return path, class and part of every image, 100 of each class drawn for training."""
    rows = []
    draws = np.random.default_rng(seed)
    for name in sorted(folder.name for folder in (data / "train").iterdir()):
        paths = sorted(data.resolve().glob(f"t*/{name}/*.jpg"))
        order = draws.permutation(len(paths))
        for place, i in enumerate(order):
            part = "train" if place < TRAINING_IMAGES else "test"
            rows.append((str(paths[i]), name, part))
    return rows


def run_verb(*words: object) -> dict:
    """Run a verb of the command and return the object that it prints."""
    command = [sys.executable, "-m", "myriad.cli.main", *map(str, words), "--json"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(printed)


def run_split(data: Path, out: Path, seed: int, options: list[str]) -> float:
    """Train and test on one split; return its accuracy, mean over classes in percent.

    A split that was tested before is not tested again.
    """
    out.mkdir(parents=True, exist_ok=True)
    tested = out / f"split-{seed}.json"
    if tested.exists():
        return json.loads(tested.read_text())["class_top1"]
    manifest, model = out / f"split-{seed}.csv", out / f"split-{seed}.model"
    with manifest.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("path", "label", "split"), *draw_split(data, seed)])
    run_verb("train", manifest, "--out", model, "--resume", *options)
    found = run_verb("evaluate", model, manifest)
    tested.write_text(json.dumps(found))
    return found["class_top1"]


def main() -> None:
    """Run all splits, then print each accuracy, their mean and their deviation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder of Scene 15")
    parser.add_argument("--out", type=Path, required=True, help="where models go")
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--codes", default="pq", help="pq or none")
    options = parser.parse_args()
    found, words = [], ["--signature", "fisher", "--codes", options.codes]
    for seed in range(options.splits):
        found.append(run_split(options.data, options.out, seed, words))
        print(f"split {seed}: top-1, mean over classes {found[-1]:.2f} %", flush=True)
    spread = statistics.stdev(found) if len(found) > 1 else 0.0
    print(f"mean {statistics.mean(found):.2f} %, deviation {spread:.2f}")


if __name__ == "__main__":
    main()
