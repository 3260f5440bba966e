"""Why last violators can cost accuracy where classes have few rows [HM, 6]: classes that starve.

    python recipes/last_violators.py --data omniglot_1623.npz --out results.json
    python recipes/last_violators.py --data IMAGES --out results.json        # any images, or rows
    python recipes/last_violators.py --quick                     # drawn glyphs, seconds

The first 500 characters of Omniglot, 15 rows of each to train on, 64 dimensions, adagrad, constant
weights, 30 epochs, one seed; see `highly_multiclass.py`. Each setting is trained without last
violators, with chains of 8 as in the paper, and with chains of 8 that are forgotten at the
beginning of each epoch. A class starves if the chain of its last violators violates the margin of
all its training rows: none of them makes a step again, unless the memory is forgotten. Each
result is written to `--out` as soon as it is known. One minute.

Expected: with a margin of 0.3 and a learning rate of 0.0375, 75 % without last violators, 60 % with
chains of 8, of which a quarter of the classes starve, and 74 % if they are forgotten.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from highly_multiclass import score
from highly_multiclass_rows import read_rows, split

from myriad.models.embedding import EmbeddingModel
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training import EmbeddingOptions
from myriad.training.embedding.trainer import Embedding
from myriad.training.settings import mean_square

sys.path.insert(0, str(Path(__file__).parent))
from results import Results, make_parser, need, run_recipe, show

SETTINGS = ((0.003, 0.0125), (0.03, 0.0125), (0.03, 0.0375), (0.3, 0.0375), (0.3, 0.125))
FORMS = {"none": (0, True), "8, as in the paper": (8, False), "8, forgotten": (8, True)}
DIM, EPOCHS = 64, 30


def find_starved(trainer: Embedding, rows: ArrayRows, order: int, margin: float) -> np.ndarray:
    """Return for each class whether the chain of its last violators violates all its rows."""
    Z, last = rows.X @ trainer.V.T, trainer._memory["last_violator"]
    scores = 2 * Z @ trainer.P.T - np.square(trainer.P).sum(axis=1)
    bars = scores[np.arange(len(Z)), rows.labels] - margin
    passed = np.zeros(len(Z), bool)
    for i, label in enumerate(rows.labels):
        c = last[label]
        for _ in range(order):
            if c < 0 or c == label:
                break
            passed[i] |= scores[i, c] > bars[i]
            c = last[c]
    of_class = np.bincount(rows.labels)
    return np.bincount(rows.labels, passed, minlength=len(of_class)) == of_class


def run(parts: list[ArrayRows], margin: float, eta: float, form: str) -> dict[str, Any]:
    """Train in one form, and return accuracies and how many classes starve."""
    began = time.process_time()
    rows, _, test = parts
    order, forget = FORMS[form]
    options = EmbeddingOptions(last_violators=order)
    shape = len(rows.class_names), rows.dim, min(DIM, rows.dim)
    trainer = Embedding(*shape, square=mean_square(rows), eta=eta, margin=margin, options=options)
    trainer.forgets = forget
    with open_threads(1) as pool:
        for _ in range(EPOCHS):
            before = trainer.counts
            trainer.run_epoch(rows, seed=0, pool=pool, advance=lambda n: None)
    model = EmbeddingModel(trainer.V, trainer.P)
    starved = find_starved(trainer, rows, order, margin)
    fed = ArrayRows(test.X[~starved[test.labels]], test.labels[~starved[test.labels]])
    return {
        "margin": margin,
        "eta": eta,
        "last_violators": form,
        "train": round(score(model, rows), 1),
        "test": round(score(model, test), 1),
        "starved": round(100 * float(starved.mean()), 1),
        "test_of_others": round(score(model, fed), 1),
        "passed": round(100 * (trainer.counts["passed"] - before["passed"]) / rows.n_rows, 1),
        "seconds": round(time.process_time() - began, 1),
    }


def main() -> None:
    """Train all forms, print, and write JSON if asked."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the file of Omniglot, images, or rows as .npz")
    parser.add_argument("--rows", type=Path, help="a file that keeps the rows of the pictures")
    parser.add_argument("--classes", type=int, help="the first ones")
    parser.add_argument("--quick", action="store_true", help="30 drawn glyphs instead")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    options = parser.parse_args()
    if not options.quick:
        need(options.data, "the drawings of Omniglot, images, or rows in a .npz file")
    n_classes = options.classes or (30 if options.quick else 500)
    X, y = read_rows(options, n_classes)
    n_classes = min(n_classes, int(y.max()) + 1)
    kept = y < n_classes
    parts = split(X[kept], y[kept], 0)
    name = "glyphs" if options.quick else options.data.stem
    described = {"recipe": "last_violators", "set": name, "classes": n_classes}
    results = Results(options.out, described)
    for margin, eta in SETTINGS:
        for form in FORMS:
            name = f"{margin:g}/{eta:g}/{form}"
            compute = partial(run, parts, margin, eta, form)
            print(show(results.fill(name, compute)), flush=True)


if __name__ == "__main__":
    run_recipe(main)
