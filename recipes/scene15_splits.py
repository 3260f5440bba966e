"""Scene 15 on fresh random splits, none of which any setting of myriad was chosen by.

Command:   python recipes/scene15_splits.py --data DATA --out runs/splits [--codes none]
           python recipes/scene15_splits.py --quick          # drawn glyphs, half a minute
Time:      4 to 6 minutes per split with one thread
Expected:  top-1, mean over classes, mean and deviation of 4 splits: 87.5 +- 0.6 % with the default
           product codes, 87.8 +- 0.8 % with --codes none

The images of DATA/train and DATA/test are put together; of each class 100 are drawn for training,
the rest is for testing. PCA, mixture and codes are learned from training images only, settings are
found on a tenth of them, and every test image is scored once. DATA is the folder of Scene 15, with
a sub-folder per class in train/ and in test/. The images themselves are not new to myriad: its
defaults were found with the usual split of them in view.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from results import keep_folder, make_parser, need

TRAINING_IMAGES = 100
QUICK = ("--components", "2", "--search", "quick", "--threads", "1")


def draw_split(data: Path, seed: int, count: int) -> list[tuple[str, str, str]]:
    """Return path, class and split of every image, some of each class drawn for training."""
    rows = []
    draws = np.random.default_rng(seed)
    for name in sorted(folder.name for folder in (data / "train").iterdir()):
        paths = sorted(data.resolve().glob(f"t*/{name}/*.*"))
        order = draws.permutation(len(paths))
        for number, i in enumerate(order):
            rows.append((str(paths[i]), name, "train" if number < count else "test"))
    return rows


def run_verb(*words: object) -> dict:
    """Run a verb of the command and return the object that it prints."""
    command = [sys.executable, "-m", "myriad.cli.main", *map(str, words), "--json"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(printed)


def run_split(data: Path, out: Path, seed: int, options: list[str], count: int) -> float:
    """Train and test on one split; return its accuracy, mean over classes in percent.

    A split that was tested before is not tested again.
    """
    out.mkdir(parents=True, exist_ok=True)
    tested = out / f"split-{seed}.json"
    if tested.exists():
        return json.loads(tested.read_text())["class_top1"]
    manifest, model = out / f"split-{seed}.csv", out / f"split-{seed}.model"
    with manifest.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("path", "label", "split"), *draw_split(data, seed, count)])
    run_verb("train", manifest, "--out", model, "--resume", *options)
    found = run_verb("evaluate", model, manifest)
    tested.write_text(json.dumps(found))
    return found["class_top1"]


def main() -> None:
    """Run all splits, then print each accuracy, their mean and their deviation."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the folder of Scene 15")
    parser.add_argument("--out", type=Path, help="a folder for models and results")
    parser.add_argument("--quick", action="store_true", help="drawn glyphs, one split")
    parser.add_argument("--splits", type=int, default=4, help="number of splits")
    parser.add_argument("--codes", default="pq", help="pq or none")
    options = parser.parse_args()
    found, words, count = [], ["--signature", "fisher", "--codes", options.codes], TRAINING_IMAGES
    out = keep_folder(options.out, quick=options.quick)
    if options.quick:
        from myriad.images import choose_glyphs, write_glyphs

        options.data, options.splits, count = out / "glyphs", 1, 8
        words = ["--signature", "fisher", "--codes", "none", *QUICK]
        write_glyphs(options.data, choose_glyphs(5), images=12, seed=0, splits=(0.7, 0, 0.3))
    else:
        need(options.data, "the folder of Scene 15, with train/CLASS and test/CLASS")
    for seed in range(options.splits):
        found.append(run_split(options.data, out, seed, words, count))
        print(f"split {seed}: top-1, mean over classes {found[-1]:.2f} %", flush=True)
    spread = statistics.stdev(found) if len(found) > 1 else 0.0
    print(f"mean {statistics.mean(found):.2f} %, deviation {spread:.2f}")


if __name__ == "__main__":
    main()
