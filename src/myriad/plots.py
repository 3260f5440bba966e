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
    ax.set(xlabel="k", ylabel="accuracy at k, %", title="Right among the k best")
    ax.set_xticks(range(1, k + 1) if k <= 12 else np.unique(np.linspace(1, k, 10).round()))
    return _finish(ax, legend=label is not None)


def reliability(
    model: Any, X: Any, y: ArrayLike, *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often the best class is right against the probability that the model gives it.

    Rows are divided by that probability into bins of equally many. Calibrated probabilities lie on
    the diagonal.
    """
    confidence, correct = _judge(model, X, y)
    bins = cut_bins(confidence, correct)
    ax = _open(ax)
    if not ax.lines:
        ax.plot([0, 100], [0, 100], color="0.7", linewidth=1, zorder=0)
    drawn = [(100 * one.confidence, 100 * one.accuracy) for one in bins]
    ax.plot(*zip(*drawn, strict=True), marker="o", label=label)
    ax.set(xlabel="probability of the best class, %", ylabel="right, %", title="Reliability")
    ax.set_aspect("equal")
    return _finish(ax, legend=label is not None)


def risk_coverage_curve(
    model: Any, X: Any, y: ArrayLike, *, label: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the error among the rows of which the model is most sure, against their fraction."""
    confidence, correct = _judge(model, X, y)
    errors = risk_coverage(confidence, correct)
    ax = _open(ax)
    ax.plot(100 * np.arange(1, len(errors) + 1) / len(errors), 100 * errors, label=label)
    ax.set(xlabel="rows answered, the surest first, %", ylabel="wrong, %", title="Risk-coverage")
    ax.set_ylim(bottom=0)
    return _finish(ax, legend=label is not None)


def confusion_groups(
    model: Any, X: Any, y: ArrayLike, *, n_classes: int = 20, ax: Axes | None = None
) -> Axes:
    """Draw how often the most confused classes are predicted as each other.

    Classes that are confused with each other stand side by side, so that groups appear as blocks
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
    guessed = np.array([numbers[one] for one in model.predict(X).tolist()], np.int32)
    shown: list[int] = []
    for pair in count_confusions(true, guessed, n_classes=len(classes)):
        shown += [c for c in (pair.truth, pair.guess) if c not in shown]
        if len(shown) >= n_classes:
            break
    shown = _group(shown[:n_classes], true, guessed)
    ax = _open(ax)
    if not shown:
        ax.set_title("No class is confused with another")
        ax.set_axis_off()
        return ax
    counts = _count(shown, true, guessed)
    sizes = np.maximum(1, [(true == c).sum() for c in shown])
    image = ax.imshow(100 * counts / sizes[:, None], vmin=0, vmax=100, cmap="Blues")
    names = [_write_label(classes[c]) for c in shown]
    ax.set_xticks(range(len(shown)), names, rotation=90)
    ax.set_yticks(range(len(shown)), names)
    ax.set(xlabel="predicted", ylabel="true", title="Most confused classes")
    ax.figure.colorbar(image, ax=ax, label="rows of the class, %", shrink=0.8)
    return ax


def search(model: Any, *, against: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the accuracy of all candidates of a search, with its standard error where it is known.

    Parameters
    ----------
    model : a fitted classifier with the attribute ``search_``.
    against : a setting for the horizontal axis, such as ``"lam"`` or ``"eta"``; by default the one
        that took the most values.
    """
    candidates: Sequence[Mapping[str, Any]] = model.search_
    if not candidates:
        raise InputError("This model was trained without a search: its settings were given.")
    measured = _find_accuracy(candidates)
    tried = {name: _list_values(candidates, name) for name in candidates[0]}
    tried = {name: values for name, values in tried.items() if len(values) > 1}
    names = [name for name in tried if name not in _MEASURES]
    if against is None and names:
        against = max(names, key=lambda name: len(tried[name]))
    elif against is not None and against not in candidates[0]:
        hint = did_you_mean(against, candidates[0])
        raise InputError(f"The search has no setting {against!r}.{hint}")
    ax = _open(ax)
    by_objective: dict[str, list[tuple[float, float, float]]] = {}
    for number, one in enumerate(candidates):
        if one.get(measured) is None:
            continue
        place = one.get(against) if against else number
        if isinstance(place, int | float) and not isinstance(place, bool):
            point = (float(place), float(one[measured]), float(one.get("error") or 0.0))
            by_objective.setdefault(str(one.get("objective", "")), []).append(point)
    for objective, points in by_objective.items():
        places, accuracies, errors = zip(*sorted(points), strict=True)
        ax.errorbar(places, accuracies, errors, marker="o", capsize=2, label=objective or None)
    spread = [place for points in by_objective.values() for place, _, _ in points if place > 0]
    if spread and max(spread) > 30 * min(spread):
        ax.set_xscale("symlog", linthresh=min(spread))
    ax.set(xlabel=against or "candidate", ylabel="held-out accuracy, %", title="Search")
    return _finish(ax, legend=len(by_objective) > 1)


_MEASURES = ("accuracy", "top1", "top5", "error", "seconds", "epochs")


def _find_accuracy(candidates: Sequence[Mapping[str, Any]]) -> str:
    for name in ("accuracy", "top1"):
        if any(one.get(name) is not None for one in candidates):
            return name
    raise InputError("The candidates of this search have no accuracy.")


def _list_values(candidates: Sequence[Mapping[str, Any]], name: str) -> set[float]:
    values = [one.get(name) for one in candidates]
    return {v for v in values if isinstance(v, int | float) and not isinstance(v, bool)}


def _judge(model: Any, X: Any, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the probability of the best class of each row, and whether it is the right one."""
    probabilities = np.asarray(model.predict_proba(X), np.float64)
    best = probabilities.argmax(axis=1)
    return probabilities.max(axis=1), np.asarray(model.classes_)[best] == np.asarray(y)


def _count(
    shown: Sequence[int], true: NDArray[np.int32], guessed: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return how often each of some classes was predicted as each of them."""
    places = {c: place for place, c in enumerate(shown)}
    counts = np.zeros((len(shown), len(shown)))
    for one, other in zip(true.tolist(), guessed.tolist(), strict=True):
        if one in places and other in places:
            counts[places[one], places[other]] += 1
    return counts


def _group(shown: list[int], true: NDArray[np.int32], guessed: NDArray[np.int32]) -> list[int]:
    """Return classes in an order in which those that are confused stand side by side."""
    if len(shown) < 3:
        return shown
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    counts = _count(shown, true, guessed)
    together = counts + counts.T
    distances = 1.0 / (1.0 + together)
    np.fill_diagonal(distances, 0.0)
    order = leaves_list(linkage(squareform(distances, checks=False), "average"))
    return [shown[place] for place in order]


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
