"""Cases of the classifiers, trained on arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import myriad
from myriad.objectives import TOPK_VARIANTS
from tests.fingerprints.data import draw_rows, draw_sets
from tests.fingerprints.recording import Case

FIXED: dict[str, Any] = {"eta": 0.1, "scale": False, "epochs": 3, "early_stopping": False}
SGD: dict[str, dict[str, Any]] = {
    "ovr hinge": {"objective": "ovr", "beta": "all"},
    "ovr logistic": {"objective": "ovr", "loss": "logistic", "beta": "all"},
    "ovr squared": {"objective": "ovr", "loss": "squared", "beta": "all", "eta": 0.01},
    "ovr drawn": {"objective": "ovr", "beta": 3},
    "ovr drawn logistic": {"objective": "ovr", "loss": "logistic", "beta": 3},
    "multiclass": {"objective": "multiclass"},
    "ranking": {"objective": "ranking"},
    "warp": {"objective": "warp"},
    "auc": {"objective": "auc"},
    "softmax": {"objective": "softmax"},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "lam": {"lam": 1e-3},
    "average": {"average": True},
    "average lam": {"average": True, "lam": 1e-3},
    "adagrad class": {"adagrad": "class"},
    "adagrad feature": {"adagrad": "feature", "lam": 1e-3},
    "scale": {"scale": True, "lam": 1e-3},
    "balanced": {"balanced": True},
    "batch": {"batch": 32, "lam": 1e-3},
    "max norm": {"max_norm": 0.5},
    "schedule lam": {"schedule": "lam", "lam": 1e-2},
    "schedule decay": {"schedule": "decay", "t0": 100.0},
    "early stopping": {"early_stopping": True, "epochs": 6, "patience": 2, "theta": 0.5},
    "not refit": {"early_stopping": True, "epochs": 4, "refit": False},
    "other seed": {"random_state": 7},
}
WARP: dict[str, dict[str, Any]] = {
    "no replacement": {"replacement": False},
    "exact rank": {"exact_rank": True},
    "constant weight": {"constant_weight": True},
    "max draws": {"max_draws": 3},
    "last violators": {"last_violators": 4},
}
STEPS: dict[str, Any] = {"eta": 0.1, "margin": 0.1, "epochs": 3, "early_stopping": False, "dim": 8}
WSABIE: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"discriminant": "linear", "max_norm": 1.0},
    "auc": {"sampling": "auc"},
    "rank weight": {"rank_weight": True},
    "no last violators": {"last_violators": 0},
    "unforgetting": {"forget": False},
    "adagrad count": {"adagrad": "count"},
    "no adagrad": {"adagrad": False},
    "ensemble": {"ensemble": 2},
    "runs": {"runs": 2, "early_stopping": True},
    "replacement": {"replacement": True, "max_draws": 4},
    "ivf": {"index": "ivf"},
    "proper": {
        "discriminant": "linear",
        "rank_weight": True,
        "last_violators": 0,
        "adagrad": False,
        "max_norm": 1.0,
    },
}


def list_cases() -> Iterator[Case]:
    """Return the cases."""
    yield from _list_sgd()
    yield from _list_duals()
    for name, options in WSABIE.items():
        yield _fit(f"wsabie {name}", myriad.Wsabie, STEPS | options)
    yield _fit("wsabie auto", myriad.Wsabie, {"epochs": 4})
    yield _fit("wsabie several labels", myriad.Wsabie, STEPS, y=draw_sets)
    yield _fit("wsabie many classes", myriad.Wsabie, STEPS, rows=(300, 5, 40))
    yield Case("wsabie partial_fit", _partly(myriad.Wsabie, STEPS))
    for gauge in ("trace", "l1", "l1_l2"):
        trace = {"gauge": gauge, "lam": 0.01, "max_rounds": 10}
        yield _fit(f"trace {gauge}", myriad.TraceNormClassifier, trace)
        relaxed = trace | {"relax": 0.3, "batch": 64, "subspace_every": 3}
        yield _fit(f"trace {gauge} relaxed", myriad.TraceNormClassifier, relaxed)
        auto = {"gauge": gauge, "max_rounds": 5}
        yield _fit(f"trace {gauge} auto", myriad.TraceNormClassifier, auto)
    yield _fit("means", myriad.NearestMeans, {})
    yield _fit("means several labels", myriad.NearestMeans, {}, y=draw_sets)
    yield Case("means partial_fit", _partly(myriad.NearestMeans, {}))


def _list_sgd() -> Iterator[Case]:
    make = myriad.LinearSGD
    for method, own in SGD.items():
        given = FIXED | own
        for variant, options in VARIANTS.items():
            yield _fit(f"sgd {method} {variant}", make, given | options)
        yield _fit(f"sgd {method} several labels", make, given, y=draw_sets)
        yield _fit(f"sgd {method} matrix", make, given | {"lam": 1e-3}, y=_matrix)
        for kind in (sparse.csr_matrix, np.float16, np.float64):
            name = kind.__name__
            yield _fit(f"sgd {method} {name}", make, given | {"lam": 1e-3}, convert=kind)
        yield _fit(f"sgd {method} many classes", make, given | {"lam": 1e-4}, rows=(300, 5, 40))
        yield Case(f"sgd {method} weights", _weighted(given))
        yield Case(f"sgd {method} partial_fit", _partly(make, given | {"lam": 1e-3}))
        yield Case(f"sgd {method} warm start", _warm(given))
        auto = {"objective": own["objective"], "loss": own.get("loss", "hinge"), "epochs": 4}
        yield _fit(f"sgd {method} auto", make, auto)
        yield _fit(f"sgd {method} auto lam", make, auto | {"lam": "auto"})
    for variant, options in WARP.items():
        yield _fit(f"sgd warp {variant}", make, FIXED | SGD["warp"] | options)
    yield _fit("sgd ovr auto in groups", make, {"epochs": 3, "memory": 3 * 4 * 12 * 24})


def _list_duals() -> Iterator[Case]:
    make = myriad.TopKSVM
    for variant in TOPK_VARIANTS:
        for k in (1, 3):
            given = {"k": k, "variant": variant, "lam": 0.01, "max_epochs": 20}
            name = f"topk {variant} {k}"
            yield _fit(name, make, given)
            yield _fit(f"{name} bias", make, given | {"bias": 1.0})
            if variant != "entropy":
                yield _fit(f"{name} smoothed", make, given | {"smoothing": 1.0})
            yield _fit(f"{name} float64", make, given | {"tol": 1e-7})
            yield _fit(f"{name} auto", make, {"k": k, "variant": variant, "max_epochs": 20})
            yield _fit(f"{name} kernel", make, given | {"kernel": _square})
            yield _fit(f"{name} many classes", make, given, rows=(300, 5, 40))
    yield Case("topk precomputed", _precomputed)
    for loss in ("hinge", "squared_hinge"):
        given = {"loss": loss, "lam": 0.01, "max_epochs": 20}
        yield _fit(f"dual {loss}", myriad.DualSVM, given)
        for name, options in (
            ("beta", {"beta": 3.0}),
            ("balanced", {"class_weight": "balanced"}),
            ("no bias", {"bias": 0.0}),
            ("float64", {"tol": 1e-7}),
        ):
            yield _fit(f"dual {loss} {name}", myriad.DualSVM, given | options)
        yield _fit(f"dual {loss} auto", myriad.DualSVM, {"loss": loss, "max_epochs": 20})
        yield _fit(f"dual {loss} many classes", myriad.DualSVM, given, rows=(300, 5, 40))


def describe(fitted: Any, X: Any) -> dict[str, Any]:
    """Return what is hashed of a fitted classifier: arrays, rankings and settings."""
    weights = [getattr(fitted, name) for name in ("coef_", "intercept_") if hasattr(fitted, name)]
    labels, scores = fitted.predict_topk(X, 3)
    return {
        "arrays": [*weights, fitted.decision_function(X)],
        "ranking": [np.asarray(labels).astype(str), scores],
        "settings": [
            dict(getattr(fitted, "settings_", {})),
            getattr(fitted, "n_epochs_", None),
            np.asarray(fitted.classes_).astype(str),
        ],
    }


def _fit(
    name: str,
    make: Callable[..., Any],
    options: dict[str, Any],
    *,
    rows: tuple[int, int, int] = (12, 30, 24),
    y: Callable[[], Any] | None = None,
    convert: Any = None,
) -> Case:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        X, labels = draw_rows(*rows)
        X = (
            X
            if convert is None
            else convert(X)
            if convert is sparse.csr_matrix
            else X.astype(convert)
        )
        fitted = make(**options, threads=threads).fit(X, labels if y is None else y())
        return describe(fitted, draw_rows(*rows, seed=1)[0][:60])

    return Case(name, run)


def _matrix() -> Any:
    """Return the sets of labels as a matrix of 0 and 1."""
    Y = np.zeros((len(draw_sets()), 12), np.int8)
    for row, labels in enumerate(draw_sets()):
        Y[row, labels] = 1
    return Y


def _partly(make: Callable[..., Any], options: dict[str, Any]) -> Any:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        X, y = draw_rows()
        model = make(**options, threads=threads)
        known = y < 9  # three classes come later
        model.partial_fit(X[known][:120], y[known][:120], classes=np.arange(9))
        model.partial_fit(X[known][120:], y[known][120:])
        if make is myriad.LinearSGD:  # the others take no new classes
            model.partial_fit(X, y)
        return describe(model, draw_rows(seed=1)[0][:60])

    return run


def _weighted(options: dict[str, Any]) -> Any:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        X, y = draw_rows()
        weights = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
        model = myriad.LinearSGD(**options, threads=threads).fit(X, y, sample_weight=weights)
        return describe(model, draw_rows(seed=1)[0][:60])

    return run


def _warm(options: dict[str, Any]) -> Any:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        X, y = draw_rows()
        model = myriad.LinearSGD(**options, warm_start=True, threads=threads).fit(X, y).fit(X, y)
        return describe(model, draw_rows(seed=1)[0][:60])

    return run


def _square(A: Any, B: Any) -> Any:
    return (0.1 * A @ B.T + 1.0) ** 2


def _precomputed(threads: int, folder: Path) -> dict[str, Any]:
    X, y = draw_rows()
    X = X.astype(np.float64)
    model = myriad.TopKSVM(kernel="precomputed", lam=0.01, max_epochs=20, threads=threads)
    model.fit(_square(X, X), y)
    return describe(model, _square(draw_rows(seed=1)[0][:60].astype(np.float64), X))
