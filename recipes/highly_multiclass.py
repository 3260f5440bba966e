"""Classifiers of very many classes side by side, in the shape of [HM, Tables 6 and 8].

    python recipes/highly_multiclass.py omniglot --data omniglot_1623.npz --out results.json
    python recipes/highly_multiclass.py glyphs --out results.json
    python recipes/highly_multiclass.py --data IMAGES --out results.json   # any images, or rows
    python recipes/highly_multiclass.py --quick                    # drawn glyphs, seconds
    python recipes/highly_multiclass_tables.py docs/recipes.md     # the results as tables

Omniglot: 1,623 characters, 15 drawings of each to train, 2 to validate, 3 to test; the file holds
`X`, bits of 105 x 105 drawings packed along the last axis, and `y`. Glyphs: 2,000 characters that
myriad draws itself, as many of each. A row is a grid of 8 x 8 cells of 8 orientations of gradients,
512 values, the same for all methods. Other data: a folder or an archive of images, whose splits
are pooled, or a .npz file with rows `X` (n_rows, n_features) and labels `y`; of each class 75 %
train, 10 % validate and 15 % test, and classes of fewer than 8 images are left out.

The rows to test on are the same for all seeds; a seed draws which of the others validate, and all
that a method draws. Settings (learning rate, margin, negatives, decay, k, dimensions, order of last
violators) are found by the first seed on its validation rows and kept for the others; each training
stops at the best epoch of 30 on the validation rows of its own seed. One-vs-all and AUC have
adagrad, as in [HM, Table 5], and averaged weights; beside them are plain SGD and, for one-vs-all,
the dual squared hinge. Ensembles take the settings of the single embedding. Accuracies are top-1
over samples; the spread is the standard deviation.

Each result is written to `--out` as soon as it is known, and results in that file are not computed
again; `--rows FILE` keeps the rows. The whole takes about 45 minutes on one core. `--parts` runs
some of it: `means` (nearest means and neighbours), `dims` and `orders` (Wsabie++ by dimensions and
by the length of its chains of last violators; those in `--dims`), `embeddings`, `linear`
(one-vs-all and AUC) and `ablations`; `--lines` runs single lines of them.

Expected on Omniglot, top-1 in percent: nearest means 54, Wsabie 65, Wsabie++ 67; all tables are on
docs/recipes.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from myriad.models.embedding import EmbeddingModel
from myriad.store import ArrayRows
from myriad.training import (
    SGD,
    BinaryDual,
    Context,
    EmbeddingOptions,
    Fitted,
    Method,
    OptimiserOptions,
    WsabieMethod,
)

sys.path.insert(0, str(Path(__file__).parent))
from highly_multiclass_rows import read_rows, split
from results import Results, describe_run, make_parser, need, run_recipe

PROPER = EmbeddingOptions(
    discriminant="linear", rank_weight=True, last_violators=0, adagrad=False, max_norm=1.0
)
BARE = {"rank_weight": True, "last_violators": 0, "adagrad": False}
ABLATIONS = {  # Euclidean throughout, as in [HM, Table 6]
    "Wsabie": {},
    "Wsabie + 10 last violators": {"last_violators": 10},
    "Wsabie + adagrad": {"adagrad": True},
    "Wsabie + counting adagrad": {"adagrad": "count"},
    "Wsabie + constant weight": {"rank_weight": False},
    "Wsabie + adagrad + 10 last violators": {"adagrad": True, "last_violators": 10},
    "Wsabie + adagrad + constant weight": {"adagrad": True, "rank_weight": False},
    "... + 1 last violator": {"adagrad": True, "rank_weight": False, "last_violators": 1},
    "... + 10 last violators": {"adagrad": True, "rank_weight": False, "last_violators": 10},
    "... + 100 last violators": {"adagrad": True, "rank_weight": False, "last_violators": 100},
    "... + 10, never forgotten": {
        "adagrad": True,
        "rank_weight": False,
        "last_violators": 10,
        "forget": False,
    },
}
DIMS = (32, 64, 128, 192, 256, 384, 512)
ORDERS = (0, 1, 8, 64)
"""How long chains of last violators are; Wsabie++ has some, so 0 is compared but not chosen."""
PARTS = ("means", "dims", "orders", "embeddings", "linear", "ablations")
MEMBERS = 3
EPOCHS = 30
ABLATED_DIM = 64


class TableResults(Results):
    """Results by table, line and seed."""

    def find(self, table: str, line: str, seed: int) -> dict[str, Any] | None:
        """Return a result if it is known."""
        return self.cells.get(f"{table}/{line}/{seed}")

    def best(self, table: str, lines: Sequence[int]) -> str:
        """Return the line of a table that is best on the validation rows of the first seed."""
        missing = [n for n in lines if f"{table}/{n}/0" not in self.cells]
        if missing:
            part = {"by_dim": "dims", "by_order": "orders"}[table]
            sys.exit(
                f"This part chooses among the results of the part {part}, of which "
                f"{', '.join(map(str, missing))} have not been run: add {part} to --parts."
            )
        validated = {str(n): self.cells[f"{table}/{n}/0"]["validation"] for n in lines}
        return max(validated, key=lambda line: validated[line])

    def add(self, table: str, line: str, seed: int, cell: dict[str, Any]) -> None:
        """Add a result, print it, and write all results to the file."""
        self.fill(f"{table}/{line}/{seed}", lambda: cell)
        shown = f"{cell['test']:6.2f} %  {cell['seconds']:7.1f} s"
        print(f"seed {seed}  {table:<7} {line:<38} {shown}", flush=True)

    def describe(self) -> dict[str, Any]:
        """Return the call and the tables."""
        return {**describe_run(), **super().describe(), **self.summarise()}

    def summarise(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return the mean and the spread of each line over the seeds that are done."""
        lines: dict[tuple[str, str], list[float]] = {}
        for name, cell in self.cells.items():
            table, line, _ = name.split("/")
            lines.setdefault((table, line), []).append(cell["test"])
        tables: dict[str, dict[str, dict[str, float]]] = {}
        for (table, line), values in lines.items():
            tables.setdefault(table, {})[line] = {
                "mean": round(float(np.mean(values)), 2),
                "spread": round(float(np.std(values, ddof=1)), 2) if len(values) > 1 else 0.0,
                "seeds": len(values),
            }
        return tables


def list_linear() -> dict[str, Method]:
    """Return the lines of [HM, Table 8] that learn a weight vector for each class."""
    adaptive = OptimiserOptions(adagrad="feature", average=True)
    return {
        "one-vs-all, 1 : 1": SGD(objective="ovr", beta=1.0, epochs=EPOCHS, optimiser=adaptive),
        "one-vs-all, 1 : 1, plain SGD": SGD(objective="ovr", beta=1.0, epochs=EPOCHS),
        "one-vs-all": SGD(objective="ovr", epochs=EPOCHS, optimiser=adaptive),
        "one-vs-all, plain SGD": SGD(objective="ovr", epochs=EPOCHS),
        "one-vs-all, dual": BinaryDual(loss="squared_hinge", epochs=EPOCHS, tol=0.01),
        "AUC": SGD(objective="auc", epochs=EPOCHS, optimiser=adaptive),
        "AUC, plain SGD": SGD(objective="auc", epochs=EPOCHS),
    }


def list_embeddings(dim: int, order: int) -> Iterator[tuple[str, Method, str | None]]:
    """Yield the lines of [HM, Table 8] that learn an embedding.

    The third value is the line whose settings the method uses, or None.
    """
    proper = WsabieMethod(dim=dim, options=PROPER, epochs=EPOCHS)
    better = make_better(dim, order)
    yield "Wsabie", proper, None
    yield "Wsabie ensemble", replace(proper, ensemble=MEMBERS), "Wsabie"
    yield "Wsabie++", better, None
    yield "Wsabie++ ensemble", replace(better, ensemble=MEMBERS), "Wsabie++"


def make_better(dim: int, order: int = 8) -> WsabieMethod:
    """Return Wsabie++ with last violators up to an order."""
    return WsabieMethod(dim=dim, options=EmbeddingOptions(last_violators=order), epochs=EPOCHS)


def train(
    method: Method, found: dict[str, Any] | None, parts: list[ArrayRows], seed: int
) -> dict[str, Any]:
    """Return a result: with the settings of an earlier one, if there is one, else search."""
    began = time.process_time()
    rows, val, test = parts
    method = replace(method, seed=seed)
    if found is not None:
        model: Any = None  # only settings are taken over
        settled = method.settled(Fitted(model, found["settings"], found["epochs"]))
        method = replace(settled, epochs=EPOCHS)  # type: ignore[call-arg]
    fitted = method.fit(rows, val, n_classes=len(rows.class_names), context=Context(threads=1))
    return {
        "test": score(fitted.model, test),
        "validation": score(fitted.model, val),
        "epochs": fitted.epochs,
        "settings": fitted.settings,
        "early": find_early(fitted),
        "tested": test.n_rows,
        "seconds": round(time.process_time() - began, 1),
    }


def find_early(fitted: Fitted) -> float | None:
    """Return when 80 % of the best validation accuracy was reached, in percent of the epochs.

    [HM, 8.3] reports about 20 % of the training time for all methods.
    """
    curve = [row["top1"] for row in fitted.history if "top1" in row]
    if not curve:
        return None
    best = int(np.argmax(curve))
    first = next(i for i, top1 in enumerate(curve) if top1 >= 0.8 * curve[best])
    return round(100 * (first + 1) / (best + 1), 1)


def score(model: Any, rows: ArrayRows) -> float:
    """Return the accuracy over samples in percent."""
    return 100 * float((model.rank_true_labels(rows.X, rows.labels)[0] == 1).mean())


def fit_means(parts: list[ArrayRows]) -> dict[str, Any]:
    """Return the result of the nearest class mean."""
    began = time.process_time()
    rows, _, test = parts
    sums = np.zeros((len(rows.class_names), rows.dim))
    np.add.at(sums, rows.labels, rows.X)
    means = sums / np.maximum(np.bincount(rows.labels, minlength=len(sums)), 1)[:, None]
    model = EmbeddingModel(np.eye(rows.dim, dtype=np.float32), means.astype(np.float32))
    return {"test": score(model, test), "seconds": round(time.process_time() - began, 1)}


def fit_neighbours(parts: list[ArrayRows], k: int | None) -> dict[str, Any]:
    """Return the result of exact k-NN; a `k` of None is found on validation rows."""
    began = time.process_time()
    rows, val, test = parts
    index = faiss.IndexFlatL2(rows.dim)
    index.add(rows.X)

    def vote(asked: ArrayRows, k: int) -> float:
        labels = rows.labels[index.search(asked.X, k)[1]]
        same = (labels[:, :, None] == labels[:, None, :]).sum(axis=2)
        guesses = labels[np.arange(len(labels)), same.argmax(axis=1)]  # the nearest on ties
        return 100 * float((guesses == asked.labels).mean())

    best = k or max((1, 3, 5, 9), key=lambda k: vote(val, k))
    seconds = round(time.process_time() - began, 1)
    return {"test": vote(test, best), "settings": {"k": best}, "seconds": seconds}


def run_seed(
    results: TableResults,
    parts: list[ArrayRows],
    seed: int,
    dims: tuple[int, ...],
    chosen: Sequence[str] = PARTS,
    lines: Sequence[str] | None = None,
) -> None:
    """Compute all results of a seed, or of some parts and lines, that are not known yet."""

    def fill(table: str, line: str, method: Method, like: str | None = None) -> None:
        if results.find(table, line, seed) is not None or line not in (lines or [line]):
            return
        found = results.find(table, like or line, 0)
        results.add(table, line, seed, train(method, found, parts, seed))

    if "means" in chosen:
        fill_means(results, parts, seed)
    if "dims" in chosen:
        for d in dims:
            fill("by_dim", str(d), make_better(d))
    if "orders" in chosen:
        for q in ORDERS:
            fill("by_order", str(q), make_better(int(results.best("by_dim", dims)), q))
    if "embeddings" in chosen:
        dim, order = (
            int(results.best(table, lines))
            for table, lines in (("by_dim", dims), ("by_order", ORDERS[1:]))
        )
        again = results.find("by_order", str(order), seed)
        if again is not None and results.find("table8", "Wsabie++", seed) is None:
            results.add("table8", "Wsabie++", seed, again)
        for line, method, like in list_embeddings(dim, order):
            fill("table8", line, method, like)
    if "linear" in chosen:
        for line, method in list_linear().items():
            fill("table8", line, method)
    if "ablations" in chosen:
        for line, changes in ABLATIONS.items():
            options = EmbeddingOptions(**(BARE | changes))
            dim = min(ABLATED_DIM, parts[0].dim)
            fill("table6", line, WsabieMethod(dim=dim, options=options, epochs=EPOCHS))


def list_lines(dims: Sequence[int]) -> set[str]:
    """Return the names that `--lines` knows."""
    named = (line for line, *_ in list_embeddings(1, 1))
    return {*map(str, (*dims, *ORDERS)), *named, *list_linear(), *ABLATIONS}


def fill_means(results: TableResults, parts: list[ArrayRows], seed: int) -> None:
    """Compute the results of nearest means and neighbours, if they are not known yet."""
    if results.find("table8", "nearest means", seed) is None:
        results.add("table8", "nearest means", seed, fit_means(parts))
    if results.find("table8", "k-NN", seed) is None:
        first = results.find("table8", "k-NN", 0)
        cell = fit_neighbours(parts, first["settings"]["k"] if first else None)
        results.add("table8", "k-NN", seed, cell)


def main() -> None:
    """Run all methods, print the tables, and write the results to `--out`."""
    parser = make_parser(__doc__)
    parser.add_argument("set", nargs="?", choices=["omniglot", "glyphs"], help="the data")
    parser.add_argument("--data", type=Path, help="the file of Omniglot, images, or rows as .npz")
    parser.add_argument("--classes", type=int, help="the first ones; all by default")
    parser.add_argument("--seeds", type=int, help="number of seeds")
    parser.add_argument("--parts", default=",".join(PARTS), help="what is run")
    parser.add_argument("--lines", help="names of some lines of the tables, with semicolons")
    parser.add_argument("--dims", help="dimensions of Wsabie++, such as 64,128")
    parser.add_argument("--quick", action="store_true", help="30 classes, of glyphs without --data")
    parser.add_argument("--rows", type=Path, help="a file that keeps the rows of the pictures")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    options = parser.parse_args()
    n_classes = options.classes or (30 if options.quick else None)
    if options.set != "glyphs" and not options.quick:
        need(options.data, "the drawings of Omniglot, images, or rows in a .npz file")
    name = options.set or ("glyphs" if options.data is None else options.data.stem)
    dims = DIMS[:2] if options.quick else DIMS
    if options.dims:
        dims = tuple(int(text) for text in options.dims.split(","))
    chosen = options.parts.split(",")
    if not set(chosen) <= set(PARTS):
        sys.exit(f"--parts must be some of {','.join(PARTS)}, not {options.parts}.")
    lines = options.lines.split(";") if options.lines else None
    if unknown := set(lines or ()) - (known := list_lines(dims)):
        sys.exit(f"--lines knows {'; '.join(sorted(known))}, not {'; '.join(sorted(unknown))}.")
    faiss.omp_set_num_threads(1)
    X, y = read_rows(options, n_classes)
    n_classes, dims = int(y.max()) + 1, tuple(d for d in dims if d <= X.shape[1])
    described = {"recipe": "highly_multiclass", "set": name}
    results = TableResults(options.out, described | {"classes": n_classes, "rows": len(y)})
    for seed in range(options.seeds or (1 if options.quick else 5)):
        run_seed(results, split(X, y, seed), seed, dims, chosen, lines)
    for table, means in results.summarise().items():
        print(table)
        for line, numbers in means.items():
            shown = f"{numbers['mean']:6.2f} +- {numbers['spread']:.2f} ({numbers['seeds']} seeds)"
            print(f"  {line:<40} {shown}")


if __name__ == "__main__":
    run_recipe(main)
