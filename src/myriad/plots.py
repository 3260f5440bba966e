"""Plots by matplotlib: accuracy at k, reliability, risk-coverage, confused classes, search.

Each function draws on `ax`, or on new axes, and returns the axes, so that several models can be
drawn on the same ones::

    ax = myriad.plots.accuracy_at_k(model, X_test, y_test, label="all rows")
    myriad.plots.accuracy_at_k(other, X_test, y_test, label="half of the rows", ax=ax)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from myriad.errors import InputError, did_you_mean
from myriad.measures import count_confusions
from myriad.measures.calibration import cut_bins, risk_coverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["accuracy_at_k", "confusion_groups", "reliability", "risk_coverage_curve", "search"]

SHOWN_LABEL = 24
"""Characters of a label that are written beside an axis."""


def accuracy_at_k(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    k: int = 10,
    label: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the accuracy over samples against the number of guesses.

    Parameters
    ----------
    model : a fitted classifier of myriad, or what `myriad.load` returns.
    X, y : rows or images, and their labels.
    k : the largest number of guesses.
    label : the name of the curve in a legend.
    """
    truths = np.asarray(y)
    k = min(k, len(model.classes_))
    guesses, _ = model.predict_topk(X, k)
    found = np.maximum.accumulate(np.asarray(guesses) == truths[:, None], axis=1)
    ax = _open(ax)
    ax.plot(range(1, k + 1), 100 * found.mean(axis=0), marker="o", label=label)
    ax.set(xlabel="k", ylabel="accuracy at k, %", title="Accuracy at k")
    ax.set_xticks(range(1, k + 1) if k <= 12 else np.unique(np.linspace(1, k, 10).round()))
    return _finish(ax, legend=label is not None)


def reliability(
    model: Any, X: Any, y: ArrayLike, *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often the best class is correct against the probability that the model gives it.

    Rows are divided by that probability into bins of equally many. Calibrated probabilities lie on
    the diagonal.
    """
    confidence, correct = _confidence(model, X, y)
    bins = cut_bins(confidence, correct)
    ax = _open(ax)
    if not ax.lines:
        ax.plot([0, 100], [0, 100], color="0.7", linewidth=1, zorder=0)
    drawn = [(100 * one.confidence, 100 * one.accuracy) for one in bins]
    ax.plot(*zip(*drawn, strict=True), marker="o", label=label)
    ax.set(xlabel="probability of the best class, %", ylabel="correct, %", title="Reliability")
    ax.set_aspect("equal")
    return _finish(ax, legend=label is not None)


def risk_coverage_curve(
    model: Any, X: Any, y: ArrayLike, *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the error among the most confident rows, against their fraction."""
    confidence, correct = _confidence(model, X, y)
    errors = risk_coverage(confidence, correct)
    ax = _open(ax)
    ax.plot(100 * np.arange(1, len(errors) + 1) / len(errors), 100 * errors, label=label)
    ax.set(xlabel="coverage (most confident rows), %", ylabel="error, %", title="Risk-coverage")
    ax.set_ylim(bottom=0)
    return _finish(ax, legend=label is not None)


def confusion_groups(
    model: Any, X: Any, y: ArrayLike, *, n_classes: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw how often the most confused classes are predicted as each other.

    Classes that are confused with each other are side by side, so that groups appear as blocks
    along the diagonal.

    Parameters
    ----------
    n_classes : how many classes to show, those with the most errors between them.
    """
    classes, truths = list(model.classes_), np.asarray(y)
    numbers = {name: c for c, name in enumerate(classes)}
    unknown = next((one for one in truths.tolist() if one not in numbers), None)
    if unknown is not None:
        hint = did_you_mean(unknown, classes)
        raise InputError(f"y has the label {unknown!r}, which the model does not know.{hint}")
    true = np.array([numbers[one] for one in truths.tolist()], np.int32)
    predicted = np.array([numbers[one] for one in model.predict(X).tolist()], np.int32)
    shown: list[int] = []
    for pair in count_confusions(true, predicted, n_classes=len(classes)):
        shown += [c for c in (pair.truth, pair.predicted) if c not in shown]
        if len(shown) >= n_classes:
            break
    shown = _group(shown[:n_classes], true, predicted)
    ax = _open(ax)
    if not shown:
        ax.set_title("No class is confused with another")
        ax.set_axis_off()
        return ax
    counts = _count(shown, true, predicted)
    sizes = np.maximum(1, [(true == c).sum() for c in shown])
    image = ax.imshow(100 * counts / sizes[:, None], vmin=0, vmax=100, cmap="Blues")
    names = [_write_label(classes[c]) for c in shown]
    ax.set_xticks(range(len(shown)), names, rotation=90)
    ax.set_yticks(range(len(shown)), names)
    ax.set(xlabel="predicted", ylabel="true", title="Most confused classes")
    ax.figure.colorbar(image, ax=ax, label="rows of the class, %", shrink=0.8)
    return ax


def search(model: Any, *, against: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the held-out accuracy of all candidates of a search, and mark the best one.

    Parameters
    ----------
    model : a fitted classifier with the attribute ``search_``.
    against : a setting for the horizontal axis, such as ``"lam"`` or ``"eta"``; by default the
        candidates are shown in the order in which they were tried.
    """
    candidates: Sequence[Mapping[str, Any]] = model.search_
    if not candidates:
        raise InputError("This model was trained without a search: its settings were given.")
    known = dict.fromkeys(name for one in candidates for name in one)
    if against is not None and against not in known:
        hint = did_you_mean(against, known)
        raise InputError(f"The search has no setting {against!r}.{hint}")
    positioned = [
        (number if against is None else one.get(against), one)
        for number, one in enumerate(candidates, start=1)
        if np.isfinite(_accuracy_of(one))
    ]
    drawn = [(float(x), one) for x, one in positioned if isinstance(x, int | float)]
    if not drawn:
        raise InputError("No candidate of this search has an accuracy and a number to draw.")
    points: dict[str, list[tuple[float, float]]] = {}
    for x, one in drawn:
        objective = str(one.get("objective", "candidates"))
        points.setdefault(objective, []).append((x, _accuracy_of(one)))
    best = max(drawn, key=lambda pair: _accuracy_of(pair[1]))
    ax = _open(ax)
    for objective, found in points.items():
        ax.plot(*zip(*sorted(found), strict=True), "o", markersize=4, label=objective)
    label = _describe(best[1])
    ax.plot(best[0], _accuracy_of(best[1]), "*", color="black", markersize=11, label=label)
    positive = [x for x, _ in drawn if x > 0]
    if against is not None and positive and max(positive) > 30 * min(positive):
        ax.set_xscale("symlog", linthresh=min(positive))
    ax.set(xlabel=against or "candidate", ylabel="held-out accuracy, %", title="Search")
    return _finish(ax, legend=True)


_MEASURES = ("objective", "accuracy", "top1", "top5", "error", "seconds")


def _accuracy_of(candidate: Mapping[str, Any]) -> float:
    found = candidate.get("accuracy", candidate.get("top1"))
    return float("-inf") if found is None else float(found)


def _describe(candidate: Mapping[str, Any]) -> str:
    """Return the settings of a candidate: "lam 2.53, epochs 8"."""
    settings = {
        name: f"{value:.3g}"
        for name, value in candidate.items()
        if name not in _MEASURES and isinstance(value, int | float)
    }
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "best"


def _confidence(model: Any, X: Any, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the probability of the best class of each row, and whether it is the correct one."""
    probabilities = np.asarray(model.predict_proba(X), np.float64)
    best = probabilities.argmax(axis=1)
    return probabilities.max(axis=1), np.asarray(model.classes_)[best] == np.asarray(y)


def _count(
    shown: Sequence[int], true: NDArray[np.int32], predicted: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the confusion matrix of the classes `shown`, rows by true class."""
    positions = {c: position for position, c in enumerate(shown)}
    counts = np.zeros((len(shown), len(shown)))
    for one, other in zip(true.tolist(), predicted.tolist(), strict=True):
        if one in positions and other in positions:
            counts[positions[one], positions[other]] += 1
    return counts


def _group(shown: list[int], true: NDArray[np.int32], predicted: NDArray[np.int32]) -> list[int]:
    """Return classes in an order in which those that are confused are neighbours."""
    if len(shown) < 3:
        return shown
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    counts = _count(shown, true, predicted)
    together = counts + counts.T
    distances = 1.0 / (1.0 + together)
    np.fill_diagonal(distances, 0.0)
    order = leaves_list(linkage(squareform(distances, checks=False), "average"))
    return [shown[position] for position in order]


def _write_label(name: Any) -> str:
    """Return a label for an axis: short, and without mathematics between dollar signs."""
    text = str(name)
    text = text if len(text) <= SHOWN_LABEL else f"{text[: SHOWN_LABEL - 1]}…"
    return text.replace("$", r"\$")


def _open(ax: Axes | None) -> Axes:
    """Return the axes to draw on; by default those of a new figure."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(5.2, 4.0), layout="constrained")[1]


def _finish(ax: Axes, *, legend: bool) -> Axes:
    ax.grid(alpha=0.3)
    if legend:
        ax.legend()
    return ax
