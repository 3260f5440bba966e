"""Planted faults: how many near duplicates and wrong labels ``myriad check`` finds.

Command:   python recipes/data_faults.py --data DATA --work runs/data_faults --out FILE.json
           [--problems scene15,tiny200] [--faults copies,random,confusable,memory] [--seeds 5]
           python recipes/data_faults.py --quick             # drawn glyphs, seconds
           python recipes/data_faults.py --table [docs/verbs/check.md]
Time:      describing 5,000 images once, then about a minute per seed and problem, two cores
Expected:  see docs/verbs/check.md

DATA is a folder with scene15/, caltech101.zip and tiny200.zip. Only training images are used, some
of each class (`IMAGES`); their rows are kept in the folder --work. Every result is written to --out
at once, and what is there is not run again. The published results are those of `RESULTS`.

Near duplicates: of drawn images copies are made, saved at quality 40, resized to 60 %, cropped by
5 % at one side and above, 1.3 times as bright, or mirrored. A copy is found if it is in one group
with its original. A false alarm is a pair of images that are no copies of each other: pairs that
the data have of themselves are subtracted, which are those that are found without any planted copy
(how many of them are no copies is stated in docs/verbs/check.md).

Wrong labels: a quarter of the images is set apart with its labels as they are. Of the others 5 %
get a random other label, or that of the class whose mean is nearest. Images are ranked by how
surely their label is wrong, by `find_label_errors`, as ``myriad check --labels`` does, and by
cleanlab (pip install cleanlab) from the held-out probabilities of its first round, those of all
classes. Then a classifier is trained with all images, without those at the
top of the list, which are surely wrong, and with the true labels, and its accuracy on the images
set apart is compared.
Memory is what ranking labels of 1,000 classes takes, beyond rows and models.
"""

from __future__ import annotations

import io
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance
from sklearn.metrics import average_precision_score

from myriad.checks.components import join_pairs
from myriad.checks.cross_fitting import HeldProbabilities
from myriad.checks.duplicates import find_equal, find_near_images
from myriad.checks.label_errors import find_label_errors
from myriad.images import ImageList, choose_glyphs, find_images, write_glyphs
from myriad.pipelines.checking.check import SIGNATURE
from myriad.pipelines.checking.image_scan import scan_images
from myriad.pipelines.run import Run
from myriad.signatures.registry import open_network
from myriad.store import ArrayRows
from myriad.training import Automatic, Context
from myriad.training.baselines.nearest_means import Means

sys.path.insert(0, str(Path(__file__).parent))
from data_fault_tables import write_tables
from results import Results, fill_page, keep_folder, make_parser, need

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "data_faults.json"
PROBLEMS = {"scene15": "scene15", "caltech101": "caltech101.zip", "tiny200": "tiny200.zip"}
DATA = "a folder with scene15/, caltech101.zip and tiny200.zip"
IMAGES = {"scene15": 1500, "caltech101": 1515, "tiny200": 2000, "glyphs": 60}
"""Training images that are used, equally many of each class."""
COPIES = 60
"""Images that each kind of copy is made of, for a seed."""
WRONG = 0.05
CHOSEN_BY = 5
"""The ranking of labels was chosen with the seeds below this one, and is measured with others."""
SET_APART = 0.25
MEMORY_ROWS, MEMORY_CLASSES, MEMORY_FEATURES, MEMORY_BLOCK = 50_000, 1_000, 16, 500
"""The size of the problem with which memory is measured, and rows that are scored at a time."""


def crop(image: Image.Image) -> Image.Image:
    """Cut 5 % of the width from the left, and 5 % of the height from above."""
    width, height = image.size
    return image.crop((round(0.05 * width), round(0.05 * height), width, height))


def shrink(image: Image.Image) -> Image.Image:
    """Resize an image to 60 %."""
    width, height = (max(1, round(0.6 * side)) for side in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS)


COPYING: dict[str, tuple[Callable[[Image.Image], Image.Image], int]] = {
    "quality 40": (lambda image: image, 40),
    "resized to 60 %": (shrink, 90),
    "cropped by 5 %": (crop, 90),
    "brightness 1.3": (lambda image: ImageEnhance.Brightness(image).enhance(1.3), 90),
    "mirrored": (lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT), 90),
}


def choose_images(source: Path, n: int) -> ImageList:
    """Return `n` training images, equally many of each class, the same ones always."""
    images = find_images(source)
    images = images.select(images.splits == "train")
    order = np.random.default_rng(0).permutation(len(images))
    order = order[np.argsort(images.labels[order], kind="stable")]
    labels = images.labels[order]
    turn = np.arange(len(order)) - np.searchsorted(labels, labels)  # its number in its class
    return images.select(np.sort(order[turn < max(2, n // len(images.class_names))]))


def describe(images: ImageList, cache: Path, threads: int) -> dict[str, Any]:
    """Return rows, thumbnails and labels of images, described once."""
    if not cache.exists():
        scan = scan_images(images, open_network(SIGNATURE), run=Run(threads=threads))
        _, labels = np.unique(scan.images.labels, return_inverse=True)
        np.savez(
            cache,
            rows=scan.rows.X,
            thumbnails=scan.thumbnails,
            sizes=scan.sizes,
            labels=labels.astype(np.int32),
            digests=np.array([one.hex() for one in scan.digests]),
        )
    with np.load(cache) as found:
        return dict(found)


def write_copies(images: ImageList, chosen: np.ndarray, folder: Path) -> Iterator[tuple[int, str]]:
    """Write copies of some images as class folders; yield the original and kind of each."""
    for at, i in enumerate(chosen.tolist()):
        original = Image.open(io.BytesIO(images.read(i))).convert("RGB")
        for kind, (change, quality) in COPYING.items():
            path = folder / "copies" / f"{at:04d} {kind}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            change(original).save(path, quality=quality)
            yield i, kind


def measure_copies(
    images: ImageList, known: dict[str, Any], seed: int, n: int, work: Path, threads: int
) -> dict[str, Any]:
    """Plant copies of some images; return how many are found, and how many pairs are false."""
    chosen = np.random.default_rng(seed).permutation(len(known["rows"]))[:n]
    folder = work / f"planted-{seed}"
    planted = sorted(
        zip(range(n * len(COPYING)), write_copies(images, chosen, folder), strict=True),
        key=lambda one: f"{one[0] // len(COPYING):04d} {one[1][1]}",
    )
    copies = scan_images(find_images(folder), open_network(SIGNATURE), run=Run(threads=threads))
    rows = np.concatenate([known["rows"], copies.rows.X])
    thumbnails = np.concatenate([known["thumbnails"], copies.thumbnails])
    sizes = np.concatenate([known["sizes"], copies.sizes])
    found = find_near_images(ArrayRows(rows), thumbnails, sizes, threads=threads)
    found += find_equal([*known["digests"].tolist(), *(one.hex() for one in copies.digests)])
    n_images = len(known["rows"])
    roots = join_pairs(((one.first, one.second) for one in found), len(rows)).roots()
    hits: dict[str, list[bool]] = {kind: [] for kind in COPYING}
    source = np.arange(len(rows))
    for at, (_, (original, kind)) in enumerate(planted):
        hits[kind].append(bool(roots[n_images + at] == roots[original]))
        source[n_images + at] = original
    own = find_near_images(
        ArrayRows(known["rows"]), known["thumbnails"], known["sizes"], threads=threads
    ) + find_equal(known["digests"].tolist())
    natural = join_pairs(((one.first, one.second) for one in own), n_images).roots()
    false = {
        tuple(sorted((int(source[one.first]), int(source[one.second]))))
        for one in found
        if natural[source[one.first]] != natural[source[one.second]]
    }
    return {
        "recall": {kind: float(np.mean(values)) for kind, values in hits.items()},
        "false_pairs": len(false),
        "own_pairs": len(own),
        "images": len(rows),
    }


def change_labels(
    X: np.ndarray, y: np.ndarray, kind: str, draws: np.random.Generator
) -> np.ndarray:
    """Return labels of which `WRONG` are wrong."""
    n_classes = int(y.max()) + 1
    wrong = draws.permutation(len(y))[: round(WRONG * len(y))]
    changed = y.copy()
    if kind == "random":
        changed[wrong] = (y[wrong] + draws.integers(1, n_classes, len(wrong))) % n_classes
        return changed
    means = np.stack([X[y == c].mean(axis=0) for c in range(n_classes)])
    means -= means.mean(axis=0)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    likeness = means @ means.T
    np.fill_diagonal(likeness, -np.inf)
    changed[wrong] = likeness.argmax(axis=1)[y[wrong]]
    return changed


def fill_matrix(held: HeldProbabilities, n_classes: int) -> np.ndarray:
    """Return held-out probabilities of all classes as a matrix, as cleanlab takes them."""
    probabilities = np.zeros((len(held), n_classes))
    np.put_along_axis(probabilities, held.classes.astype(np.int64), held.probabilities, axis=1)
    return probabilities / probabilities.sum(axis=1, keepdims=True)


def rank_by_cleanlab(labels: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return how surely labels are wrong by cleanlab."""
    from cleanlab.rank import get_label_quality_scores

    return -np.asarray(get_label_quality_scores(labels.astype(np.int64), probabilities))


def measure_memory(n_rows: int, n_classes: int) -> dict[str, Any]:
    """Return the most bytes that ranking labels takes, beyond rows and models.

    The models are class means, which take little memory themselves, of rows of few features. What
    cleanlab is given is filled some rows at a time, in float32.
    """
    draws = np.random.default_rng(0)
    y = draws.integers(0, n_classes, n_rows).astype(np.int32)
    X = draws.standard_normal((n_classes, MEMORY_FEATURES), dtype=np.float32)[y]
    X += 0.5 * draws.standard_normal(X.shape, dtype=np.float32)
    rows, context = ArrayRows(X, y), Context(threads=1)
    model = Means().fit(rows, None, n_classes=n_classes, context=context).model

    def rank_theirs() -> None:
        probabilities = np.empty((n_rows, n_classes), np.float32)
        for start in range(0, n_rows, MEMORY_BLOCK):
            some = slice(start, start + MEMORY_BLOCK)
            np.exp(model.scores(X[some]), out=probabilities[some])
            probabilities[some] /= probabilities[some].sum(axis=1, keepdims=True)
        rank_by_cleanlab(y, probabilities)

    rank_ours = partial(find_label_errors, Means(), rows, n_classes=n_classes, context=context)
    found: dict[str, Any] = {"rows": n_rows, "classes": n_classes}
    for name, rank in (("ours", rank_ours), ("cleanlab", rank_theirs)):
        tracemalloc.start()
        rank()
        found[f"{name}_bytes"] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return found


def measure_labels(known: dict[str, Any], kind: str, seed: int, threads: int) -> dict[str, Any]:
    """Change labels; return how well they are ranked, and accuracies with and without them."""
    draws = np.random.default_rng(seed)
    X, y = known["rows"], known["labels"]
    n_classes = int(y.max()) + 1
    order = draws.permutation(len(y))
    apart, inside = np.split(order, [round(SET_APART * len(y))])
    X, y, X_test, y_test = X[inside], y[inside], X[apart], y[apart]
    z = change_labels(X, y, kind, draws)
    context, method = Context(threads=threads), Automatic(search="quick", seed=seed)
    options: dict[str, Any] = {"n_classes": n_classes, "context": context}
    ranked, first = find_label_errors(method, ArrayRows(X, z), n_kept=n_classes, **options)
    held = ranked.held
    wrong = held.labels != y[held.numbers]
    peer = rank_by_cleanlab(first.labels, fill_matrix(first, n_classes))
    top = ranked.sure
    kept = np.setdiff1d(np.arange(len(z)), held.numbers[top])
    accuracies = {}
    for name, rows, labels in (
        ("with wrong labels", np.arange(len(z)), z),
        ("without the top", kept, z[kept]),
        ("with true labels", np.arange(len(z)), y),
    ):
        fitted = method.fit(ArrayRows(X[rows], labels), None, **options)
        accuracies[name] = 100.0 * float(
            (fitted.model.scores(X_test).argmax(axis=1) == y_test).mean()
        )
    return {
        "average_precision": float(average_precision_score(wrong, ranked.score)),
        "cleanlab": float(average_precision_score(wrong, peer)),
        "listed": int(ranked.likely.sum()),
        "listed_and_wrong": int((ranked.likely & wrong).sum()),
        "top": int(top.sum()),
        "top_and_wrong": int((top & wrong).sum()),
        "wrong": int(wrong.sum()),
        "accuracy": accuracies,
        "classes": n_classes,
    }


def main() -> None:
    """Run what is missing, and keep every result."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, help=DATA)
    parser.add_argument("--work", type=Path, help="a folder that keeps rows; runs/data_faults")
    parser.add_argument("--out", type=Path, help="a JSON file to write and to resume from")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--faults", default="copies,random,confusable,memory")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--threads", type=int, default=2, help="threads to use")
    parser.add_argument("--quick", action="store_true", help="glyphs, copies alone, one seed")
    parser.add_argument("--table", type=Path, nargs="?", const=Path(), help="print, or a page")
    given = parser.parse_args()
    out = given.out or (None if given.quick else RESULTS)
    results = Results(out, {"recipe": "data_faults", "quick": given.quick})
    if given.table is not None:
        fill_page(given.table, write_tables(results.cells))
        return
    work = given.work or (None if given.quick else Path("runs/data_faults"))
    given.work = keep_folder(work, quick=given.quick)
    faults = ["copies"] if given.quick else given.faults.split(",")
    if "memory" in faults:
        faults.remove("memory")
        run_memory = partial(measure_memory, MEMORY_ROWS, MEMORY_CLASSES)
        name = f"memory {MEMORY_ROWS} {MEMORY_CLASSES}"
        print(name, results.fill(name, run_memory), flush=True)
    size = "quick" if given.quick else "all"
    if given.quick:
        given.problems = "glyphs"
        write_glyphs(given.work / "glyphs", choose_glyphs(10), images=6, seed=0, splits=(1, 0, 0))
    else:
        need(given.data, DATA)
    for problem in given.problems.split(","):
        source = given.work / "glyphs" if given.quick else given.data / PROBLEMS[problem]
        images = choose_images(source, IMAGES[problem])
        known = describe(images, given.work / f"{size}-{problem}.npz", given.threads)
        for seed in range(1 if given.quick else given.seeds):
            for fault in faults:
                number = seed
                if fault == "copies":
                    n = 10 if given.quick else COPIES
                    work = given.work / problem
                    run = partial(measure_copies, images, known, seed, n, work, given.threads)
                else:
                    number = seed + CHOSEN_BY
                    run = partial(measure_labels, known, fault, number, given.threads)
                name = f"{problem} {fault} {number}"
                print(name, results.fill(name, run), flush=True)


if __name__ == "__main__":
    main()
