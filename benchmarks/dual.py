"""Training in the dual: epochs beside the bare product, time to a certificate, agreement.

    python benchmarks/dual.py                          # all parts, about 20 min, most of it peers'
    python benchmarks/dual.py --parts epoch,memory
    python benchmarks/dual.py --parts certificates --silhouettes FILE.mat
    python benchmarks/dual.py --out benchmarks/results/dual.json

One thread. Parts, the first three with N = 20,000 rows, D = 1024, C = 500 overlapping classes and
``lam = 1 / N``, which is LIBLINEAR's C = 1 (--shrink 20 makes all of them so many times smaller):

- epoch: seconds of an epoch over all classes, of one over the support, their mean in training,
  and of a certificate, as times the product ``X @ W.T`` in the same run; also of one-vs-rest;
- peer: seconds of the processor until the relative gap is certified to be 1e-3, beside the seconds
  until LinearSVC (crammer_singer) comes to the same primal value: more than those of a fit that
  does not come as far, at most those of the loosest of its tolerances that does; --cap bounds the
  seconds of one fit;
- memory: bytes of the variables beside those of dense float32 ones;
- certificates: epochs until the gap is 1e-3 at lam = 0.03 on Silhouettes (with --silhouettes), and
  1e-6 in float64 on n = 5000, d = 256, C = 100, lam = 1e-3;
- agreement: objectives beside those of scikit-learn (LIBLINEAR), as relative differences.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import time
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from epochs import draw_rows, time_product
from numpy.typing import NDArray
from record import describe_run, write_results
from scipy.io import loadmat
from sklearn.svm import LinearSVC

from myriad.models import LinearModel
from myriad.parallel import ThreadPool, open_threads
from myriad.store import ArrayRows
from myriad.training import BinaryDual, Context, TopK
from myriad.training.dual.ascent import Ascent
from myriad.training.dual.method import CertifiedFit, DualMethod

SHAPE = (20_000, 1024, 500)
PASSES = 16
REPEATS = 3
"""Number of measurements of the product and of epochs: the best of each counts."""
SETTLED = 6
"""Passes before those that count: the first ones change many more variables."""
METHODS: dict[str, DualMethod] = {
    "topk, k = 1": TopK(k=1),
    "topk, k = 5, alpha": TopK(k=5),
    "topk, k = 5, beta": TopK(k=5, variant="beta"),
    "topk, k = 1, smoothing 1": TopK(k=1, smoothing=1.0),
    "topk, k = 1, entropy": TopK(k=1, variant="entropy"),
    "dual, hinge": BinaryDual(loss="hinge", bias=0.0),
}
TOLERANCES = "0.03,0.01,0.007,0.005,0.003,0.001"


def time_epochs(ascent: Ascent, pool: ThreadPool) -> tuple[list[float], list[bool]]:
    """Return the seconds of each epoch, and whether it was over all classes."""
    seconds, full = [], []
    for _ in range(PASSES):
        full.append(not getattr(ascent, "support_only", False))
        began = time.perf_counter()
        ascent.run_epoch(ascent.rows, seed=0, pool=pool, advance=lambda n: None)
        seconds.append(time.perf_counter() - began)
    return seconds, full


def measure_epochs(rows: ArrayRows, n_classes: int) -> list[dict[str, Any]]:
    """Return the seconds of epochs as multiples of those of the product."""
    table = []
    lam = 1.0 / rows.n_rows
    with open_threads(1) as pool:
        for name, method in METHODS.items():
            few = method.make(rows.select(np.arange(200)), n_classes, lam)
            time_epochs(few, pool)
            few.certify(pool)  # compiles what is needed
            product, best, certificate = math.inf, np.full(PASSES, math.inf), math.inf
            for _ in range(REPEATS):
                product = min(product, time_product(rows, n_classes, pool))
                ascent = method.make(rows, n_classes, lam)
                seconds, full = time_epochs(ascent, pool)
                best = np.minimum(best, seconds)
                began = time.perf_counter()
                ascent.certify(pool)
                certificate = min(certificate, time.perf_counter() - began)
            ratios, which = best[SETTLED:] / product, np.array(full[SETTLED:])
            row = {
                "method": name,
                "product_seconds": round(product, 4),
                "mean": round(float(ratios.mean()), 2),
                "over_all_classes": round(float(ratios[which].mean()), 2),
                "over_the_support": round(float(ratios[~which].mean()), 2) if any(~which) else None,
                "certificate": round(certificate / product, 2),
                "passes": [round(float(ratio), 2) for ratio in best / product],
            }
            print(f"{name:<20} x product: {row}", flush=True)
            table.append(row)
    return table


def weights_of(fitted: CertifiedFit) -> NDArray[np.float64]:
    """Return the weights of a model."""
    assert isinstance(fitted.model, LinearModel)
    return fitted.model.weights.astype(np.float64)


def find_value(X: NDArray[Any], y: NDArray[np.int32], W: NDArray[np.float64], lam: float) -> float:
    """Return the objective of Crammer and Singer in float64."""
    S = X.astype(np.float64) @ W.T
    truths = S[np.arange(len(y)), y].copy()
    S[np.arange(len(y)), y] = -np.inf
    return float(0.5 * lam * (W**2).sum() + np.maximum(0.0, 1.0 + S.max(axis=1) - truths).mean())


def fit_peer(size: tuple[int, int, int], tol: float, pipe: Connection) -> None:
    """Train LinearSVC on the same rows, drawn again; send seconds, epochs and primal value."""
    rows, lam = draw_rows(*size), 1.0 / size[0]
    X = rows.X.astype(np.float64)
    model = LinearSVC(
        multi_class="crammer_singer", C=1.0, tol=tol, fit_intercept=False, max_iter=100_000
    )
    pipe.send("ready")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        began = time.process_time()
        model.fit(X, rows.labels)
    seconds = time.process_time() - began
    pipe.send((seconds, int(model.n_iter_), find_value(X, rows.labels, model.coef_, lam)))


def compare_peer(
    rows: ArrayRows, n_classes: int, tolerances: list[float], cap: float
) -> dict[str, Any]:
    """Return the seconds to a gap of 1e-3, and those of LinearSVC to the same primal value."""
    method, lam = TopK(k=1, lam=1.0 / rows.n_rows, tol=1e-3), 1.0 / rows.n_rows
    some = rows.select(np.arange(min(rows.n_rows, 4096)))  # compiles all that is needed
    method.fit(some, None, n_classes=n_classes, context=Context(threads=1))
    began = time.process_time()
    fitted = method.fit(rows, None, n_classes=n_classes, context=Context(threads=1))
    seconds = time.process_time() - began
    last = fitted.history[-1]
    ours = find_value(rows.X, rows.labels, weights_of(fitted), lam)
    result = {**last, "seconds": round(seconds, 2), "primal_of_model": ours, "peer": []}
    print(f"gap {last['gap']:.1e}, primal {ours:.6f} in {seconds:.1f} s", flush=True)
    size = (rows.n_rows, rows.dim, n_classes)
    short, enough = 0.0, None
    for tol in tolerances:
        found = run_capped(size, tol, cap)
        if found is None:
            result["peer"].append({"tol": tol, "broken_off_after": cap})
            short = max(short, cap)
            break
        row = {"tol": tol, "seconds": round(found[0], 1), "passes": found[1], "primal": found[2]}
        result["peer"].append(row)
        print(f"    LinearSVC {row}", flush=True)
        if found[2] <= ours:
            enough = found[0]
            break
        short = max(short, found[0])
    result["seconds_after_which_the_peer_is_not_there"] = round(short, 1)
    result["seconds_until_the_peer_has_the_same_primal_value"] = enough and round(enough, 1)
    result["times_sooner_at_least"] = round(short / seconds, 1)
    result["times_sooner_at_most"] = enough and round(enough / seconds, 1)
    print(
        f"seconds until the same primal value: {seconds:.1f} here, LinearSVC not yet after "
        f"{short:.1f} ({short / seconds:.1f} times sooner at least), there after {enough}",
        flush=True,
    )
    return result


def run_capped(size: tuple[int, int, int], tol: float, cap: float) -> Any:
    """Return what `fit_peer` sends from a process of its own, or None if it takes too long."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=fit_peer, args=(size, tol, sender))
    process.start()
    receiver.recv()
    found = receiver.recv() if receiver.poll(cap) else None
    process.kill()
    process.join()
    return found


def measure_memory(rows: ArrayRows, n_classes: int) -> dict[str, Any]:
    """Return the bytes of the variables after some epochs."""
    ascent = TopK(k=1).make(rows, n_classes, 1.0 / rows.n_rows)
    with open_threads(1) as pool:
        for _ in range(6):
            ascent.run_epoch(ascent.rows, seed=0, pool=pool, advance=lambda n: None)
    duals = ascent.duals
    return {
        "nonzeros": duals.n_nonzero,
        "nonzeros_a_row": round(duals.n_nonzero / rows.n_rows, 2),
        "bytes": duals.nbytes,
        "bytes_a_nonzero": round(duals.nbytes / duals.n_nonzero, 1),
        "bytes_if_dense_float32": 4 * rows.n_rows * n_classes,
    }


def certify(method: DualMethod, rows: ArrayRows, n_classes: int) -> dict[str, Any]:
    """Return the number of epochs until the certificate."""
    fitted = method.fit(rows, None, n_classes=n_classes, context=Context(threads=1))
    return {"tol": method.tol, "lam": method.lam, **fitted.history[-1]}


def measure_certificates(silhouettes: Path | None, shrink: int) -> list[dict[str, Any]]:
    """Return the numbers of epochs until the two certificates."""
    table = []
    if silhouettes is not None:
        contents = loadmat(silhouettes)
        labels = contents["train_labels"].ravel().astype(np.int32) - 1
        rows = ArrayRows(np.ascontiguousarray(contents["train_data"], np.float32), labels)
        for k, variant in ((1, "alpha"), (10, "alpha"), (10, "beta")):
            found = certify(TopK(k=k, variant=variant, lam=0.03, center=False), rows, 101)
            table.append({"data": "Silhouettes", "k": k, "variant": variant, **found})
    small = draw_rows(5000 // shrink, 256, 100)
    rows = ArrayRows(small.X.astype(np.float64), small.labels, small.class_names, dtype=np.float64)
    found = certify(TopK(k=1, lam=1e-3, tol=1e-6, center=False), rows, 100)
    table.append({"data": "n = 5000, d = 256, C = 100", "k": 1, "variant": "alpha", **found})
    for row in table:
        print(row, flush=True)
    return table


def measure_agreement(shrink: int) -> list[dict[str, Any]]:
    """Return objectives here and of LIBLINEAR, trained to a tight tolerance."""
    rng = np.random.default_rng(0)
    labels = (rng.permutation(2000 // shrink) % 20).astype(np.int32)
    means = 0.4 * rng.standard_normal((20, 64))
    rows = ArrayRows((means[labels] + rng.standard_normal((len(labels), 64))) / 8.0, labels)
    X, lam = rows.X.astype(np.float32).astype(np.float64), 1e-4
    options: dict[str, Any] = {"C": 1.0 / (lam * len(X)), "tol": 1e-8, "max_iter": 1_000_000}
    table = []
    for loss in ("crammer_singer", "hinge", "squared_hinge"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            if loss == "crammer_singer":
                peer = LinearSVC(multi_class=loss, fit_intercept=False, **options)
                method: DualMethod = TopK(k=1, lam=lam, tol=1e-6, center=False)
            else:
                peer = LinearSVC(loss=loss, dual=True, fit_intercept=False, **options)
                method = BinaryDual(loss=loss, lam=lam, tol=1e-6, bias=0.0, center=False)
            peer.fit(X, rows.labels)
        fitted = method.fit(rows, None, n_classes=20, context=Context(threads=1))
        value = find_value if loss == "crammer_singer" else find_binary_value
        extra = () if loss == "crammer_singer" else (loss == "squared_hinge",)
        here, theirs = (
            value(X, rows.labels, W, lam, *extra) for W in (weights_of(fitted), peer.coef_)
        )
        row = {
            "loss": loss,
            "here": here,
            "liblinear": theirs,
            "relative": (here - theirs) / theirs,
        }
        print(row, flush=True)
        table.append(row)
    return table


def find_binary_value(
    X: NDArray[Any], y: NDArray[np.int32], W: NDArray[np.float64], lam: float, squared: bool
) -> float:
    """Return the sum of the objectives of all classes against the rest, in float64."""
    Z = np.where(np.arange(len(W)) == y[:, None], 1.0, -1.0)
    losses = np.maximum(0.0, 1.0 - Z * (X @ W.T))
    return float(0.5 * lam * (W**2).sum() + (losses ** (2 if squared else 1)).mean(axis=0).sum())


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="epoch,memory,certificates,agreement,peer")
    parser.add_argument("--shrink", type=int, default=1, help="how many times fewer rows")
    parser.add_argument("--tolerances", default=TOLERANCES, help="of LinearSVC, loosest first")
    parser.add_argument("--cap", type=float, default=600.0, help="the most seconds of a peer's fit")
    parser.add_argument("--silhouettes", type=Path, help="the .mat file of split 1, 28 x 28")
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    tolerances = [float(tol) for tol in options.tolerances.split(",")]
    n, dim, n_classes = SHAPE
    rows = draw_rows(n // options.shrink, dim, n_classes)
    parts = {
        "epoch": lambda: measure_epochs(rows, n_classes),
        "memory": lambda: measure_memory(rows, n_classes),
        "certificates": lambda: measure_certificates(options.silhouettes, options.shrink),
        "agreement": lambda: measure_agreement(options.shrink),
        "peer": lambda: compare_peer(rows, n_classes, tolerances, options.cap),
    }
    results = {part: parts[part]() for part in options.parts.split(",")}
    write_results(options.out, {**describe_run(), "threads": 1, **results})


if __name__ == "__main__":
    main()
