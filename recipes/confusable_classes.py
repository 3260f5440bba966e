"""Confusable classes [HM, 3 and 6]: Figures 1 to 3 as simulations, and two-stage training.

    python recipes/confusable_classes.py --data omniglot_1623.npz --out FILE.json
    python recipes/confusable_classes.py --data IMAGES --out FILE.json       # any images, or rows
    python recipes/confusable_classes.py --parts figures --out FILE.json     # needs no data
    python recipes/confusable_classes.py --quick                 # drawn glyphs, seconds
    python recipes/evidence.py docs/evidence.md                  # the results as tables

`--data` is the file of Omniglot, a folder or an archive of images, or a .npz file with rows `X`
(n_rows, n_features) and labels `y`; see `highly_multiclass.py`. Of 20 rows of a class 15 train, 2
validate and 3 test. Parts, of which `--parts` runs some:

- figures. Figure 1: how far the mean of 10 or 100 errors is from their probability. Figure 2: four
  classes in a plane, two of which cannot be distinguished; the prototype of one is moved to the
  least error of 11 rows of each class, or to the least class-confusion loss (Equation 7). Figure 3:
  how often the last violator is none, g or h, beside the formula, and Proposition 1.
- stages. Wsabie++ on the first `--classes` classes, 64 dimensions: trained once; with chains of 8
  last violators, the paper's online form; trained a second time with the class-confusion loss of
  the first (`second_stage="confusion"`); and without the tenth of the classes that the first
  recognised worst (`"delete"`), measured on all classes and on those that are left. Learning rate
  and margin are found by the first seed on validation rows.

Accuracies are top-1 over samples. Each result is written to `--out` as soon as it is known. On one
core: figures one minute, stages three minutes. Expected on 200 classes of Omniglot (`--classes 200
--seeds 5`), beside Wsabie++ trained once: -1.1 by the second stage, -0.3 by last violators, -3.9 by
deletion over all classes and +1.5 over those that are left; see docs/evidence.md.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from highly_multiclass import score
from highly_multiclass_rows import draw_glyphs, read_data, split

from myriad.store import ArrayRows
from myriad.training import Context, EmbeddingOptions, Fitted, WsabieMethod

sys.path.insert(0, str(Path(__file__).parent))
from confusable_simulations import count_losses, draw_errors, place_prototypes, walk_chain
from results import Results, make_parser, need, run_recipe, show

PARTS = ("figures", "stages")
PROBABILITIES = (0.5, 0.01)
PAIRS = ((0.1, 0.1), (0.5, 0.5), (0.9, 0.1), (0.9, 0.9))
SHARES = (0.1, 0.5, 0.9, 1.0)
SEEDS, CLASSES, DIM, EPOCHS = 3, 300, 64, 30
LINES: dict[str, dict[str, Any]] = {
    "one stage": {},
    "last violators": {"options": EmbeddingOptions(last_violators=8)},
    "confusion": {"second_stage": "confusion"},
    "delete": {"second_stage": "delete"},
}


def simulate(results: Results, *, quick: bool) -> None:
    """Fill the results of the figures."""
    few = 20 if quick else 1
    for p in PROBABILITIES:
        for n_rows in (10, 100):
            compute = partial(draw_errors, p, n_rows, 1000)
            print(
                f"figure 1, p {p:g}, {n_rows} rows:",
                show(results.fill(f"1/{p:g}/{n_rows}", compute)),
            )
    compute = partial(place_prototypes, 1000 // few, 40_000 // few)
    print("figure 2:", show(results.fill("2", compute)))
    for p, q in PAIRS:
        compute = partial(walk_chain, p, q, 100_000 // few)
        print(f"figure 3, {p:g} and {q:g}:", show(results.fill(f"3/{p:g}/{q:g}", compute)))
    for p in SHARES:
        compute = partial(count_losses, p, 15, 1000 // few)
        print(f"proposition 1, p {p:g}:", show(results.fill(f"proposition/{p:g}", compute)))


def train(line: str, parts: list[ArrayRows], seed: int, found: dict[str, Any]) -> dict[str, Any]:
    """Return the accuracies of a line, with the settings of its first seed."""
    began = time.process_time()
    rows, val, test = parts
    method = WsabieMethod(dim=min(DIM, rows.dim), epochs=EPOCHS, seed=seed)
    method = replace(method, **LINES[line], eta=found.get("eta"), margin=found.get("margin"))
    fitted = method.fit(rows, val, n_classes=len(rows.class_names), context=Context(threads=1))
    cell = {
        "test": round(score(fitted.model, test), 2),
        "validation": round(score(fitted.model, val), 2),
        "eta": fitted.settings["eta"],
        "margin": fitted.settings["margin"],
        "epochs": fitted.epochs,
        "classes": len(rows.class_names),
        "tested": test.n_rows,
    }
    if line == "delete":
        cell |= measure_kept(fitted, parts, cell, method)
    return cell | {"seconds": round(time.process_time() - began, 1)}


def measure_kept(
    fitted: Fitted, parts: list[ArrayRows], cell: dict[str, Any], method: WsabieMethod
) -> dict[str, Any]:
    """Return the accuracy on the classes that are left, and that of one stage on the same."""
    rows, val, test = parts
    kept = ~np.isin(test.labels, fitted.settings["deleted_classes"])
    once = replace(method, second_stage="none", eta=cell["eta"], margin=cell["margin"])
    first = once.fit(rows, val, n_classes=len(rows.class_names), context=Context(threads=1)).model
    some = ArrayRows(test.X[kept], test.labels[kept], test.class_names)
    found = {"kept": score(fitted.model, some), "kept, one stage": score(first, some)}
    found["share"] = 100 * float(kept.mean())
    return {name: round(value, 2) for name, value in found.items()}


def run_stages(results: Results, X: np.ndarray, y: np.ndarray, n_seeds: int) -> None:
    """Fill the results of the stages, and print them."""
    for seed in range(n_seeds):
        parts = split(X, y, seed)
        for line in LINES:
            # All lines but that of last violators have the settings of one stage.
            like = line if line == "last violators" else "one stage"
            found = results.cells.get(f"stages/{like}/0", {})
            compute = partial(train, line, parts, seed, found)
            cell = results.fill(f"stages/{line}/{seed}", compute)
            shown = {n: v for n, v in cell.items() if isinstance(v, float)}
            print(f"seed {seed}  {line:<16} {shown}", flush=True)


def main() -> None:
    """Run the parts, print, and write the results down if asked."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help="the file of Omniglot, images, or rows as .npz")
    parser.add_argument("--classes", type=int, help=f"classes of the stages; {CLASSES}")
    parser.add_argument("--seeds", type=int, help="number of seeds")
    parser.add_argument("--parts", default=",".join(PARTS), help="figures, stages or both")
    parser.add_argument("--quick", action="store_true", help="20 drawn glyphs instead of --data")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    options = parser.parse_args()
    asked = options.parts.split(",")
    if not set(asked) <= set(PARTS):
        sys.exit(f"--parts must be some of {','.join(PARTS)}, not {options.parts}.")
    if "stages" in asked and not options.quick:
        need(options.data, "the file of Omniglot, images, or rows in a .npz file")
    described = {"recipe": "confusable_classes", "quick": options.quick}
    if "stages" in asked:
        described["data"] = "glyphs" if options.quick else options.data.stem
    results = Results(options.out, described)
    if "figures" in asked:
        simulate(results, quick=options.quick)
    if "stages" in asked:
        n_classes = options.classes or (20 if options.quick else CLASSES)
        X, y = draw_glyphs(n_classes) if options.quick else read_data(options.data, n_classes)
        run_stages(results, X, y, options.seeds or (1 if options.quick else SEEDS))


if __name__ == "__main__":
    run_recipe(main)
