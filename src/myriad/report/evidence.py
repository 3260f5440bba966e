"""The evidence of a report: a dictionary from a model folder, checked and cleaned for display.

The dictionary may come from a damaged or malicious file, so every value is checked: numbers must be
finite and in range, and characters that cannot be written or could alter the page are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from myriad.report.entries import LARGEST_COUNT, Entry, clean_text
from myriad.report.probability_evidence import (
    Calibration,
    GivenLabels,
    read_calibration,
    read_labels,
)

DEEPEST_SETTING = 6
MOST_SETTINGS = 500


@dataclass(frozen=True)
class Measures:
    """How well a model did on one split; percentages from 0 to 100, None where unknown."""

    n: int
    bad: int
    unknown: int
    classes: int
    top1: float | None
    top5: float | None
    class_top1: float | None
    class_top5: float | None
    mean_precision: float | None
    accuracy_at: tuple[tuple[int, float], ...]
    seconds: float | None


@dataclass(frozen=True)
class Confusion:
    """A class that images of another one were mistaken for, and how often."""

    name: str
    count: int
    sample: str | None


@dataclass(frozen=True)
class ClassRecord:
    """One class: training images, evaluated images, accuracies (None if none was evaluated).

    Where images may have several labels, there is an average precision; and if the model gives
    labels, their precision, recall and F1.
    """

    name: str
    train: int
    n: int
    top1: float | None
    top5: float | None
    sample: str | None
    taken_for: tuple[Confusion, ...]
    average_precision: float | None = None
    precision: float | None = None
    recall: float | None = None
    f1: float | None = None

    @property
    def rate(self) -> float | None:
        """The percentage by which classes are compared: average precision, else top-1 accuracy."""
        return self.top1 if self.average_precision is None else self.average_precision


@dataclass(frozen=True)
class Pair:
    """Images of class `truth` that were predicted as `guess`, with an image of both."""

    truth: str
    guess: str
    count: int
    sample: str | None
    guess_sample: str | None


@dataclass(frozen=True)
class Epoch:
    """A point of the learning curve; `gap` is the relative duality gap, where training has one."""

    epoch: float
    top1: float | None
    top5: float | None
    seconds: float | None
    gap: float | None = None


@dataclass(frozen=True)
class Trial:
    """Settings that were tried and the accuracy they gave."""

    settings: tuple[tuple[str, float | str], ...]
    top1: float | None
    top5: float | None = None


@dataclass(frozen=True)
class BadImage:
    """An image that was skipped, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Group:
    """Classes whose prototypes are close together: some of their names, and how many there are."""

    names: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class MapPoint:
    """The position of a class on the map, both coordinates from 0 to 100."""

    name: str
    x: float
    y: float


@dataclass(frozen=True)
class Suspect:
    """An image whose label may be wrong, and the label that is suggested."""

    sample: str | None
    given: str
    suggested: str
    probability: float | None


@dataclass(frozen=True)
class Evidence:
    """Everything a report shows; `noun` is what was evaluated, "image" or "row"."""

    title: str
    split: str
    noun: str
    created: str
    data: str
    measures: Measures
    history: tuple[Epoch, ...]
    search: tuple[Trial, ...]
    classes: tuple[ClassRecord, ...]
    pairs: tuple[Pair, ...]
    settings: tuple[tuple[str, str], ...]
    environment: tuple[tuple[str, str], ...]
    bad: tuple[BadImage, ...]
    ceiling: float | None
    model_bytes: int | None
    groups: tuple[Group, ...] = ()
    points: tuple[MapPoint, ...] = ()
    calibration: Calibration | None = None
    suspects: tuple[Suspect, ...] = ()
    labels: GivenLabels | None = None

    @property
    def several(self) -> bool:
        """Whether images may have several labels."""
        return self.measures.mean_precision is not None

    @property
    def chosen(self) -> Trial | None:
        """The trial with the settings of the model; None if none was scored.

        It need not be the most accurate one: a search may prefer a setting whose neighbours are
        accurate too. Where no trial agrees in all settings, the one that agrees in most.
        """
        settings = dict(self.settings)

        def rank(trial: Trial) -> tuple[int, float]:
            same = sum(settings.get(k) == _show_setting(value) for k, value in trial.settings)
            return same, trial.top1 or 0.0

        scored = (trial for trial in self.search if trial.top1 is not None)
        return max(scored, key=rank, default=None)


def read_evidence(content: Any) -> Evidence:
    """Check a dictionary of evidence and return it as records; raise `InputError` if damaged."""
    source = Entry(content, "evidence")
    size = source.number("model_bytes", LARGEST_COUNT)
    return Evidence(
        title=source.text("title") or "Untitled model",
        split=source.text("split") or "unnamed",
        noun="row" if source.text("noun") == "row" else "image",
        created=source.text("created"),
        data=source.text("data"),
        measures=_read_measures(source.entry("measures")),
        history=source.items("history", _read_epoch),
        search=source.items("search", _read_trial),
        classes=source.items("classes", _read_class),
        pairs=source.items("pairs", _read_pair),
        settings=flatten_settings(source.entry("settings").content),
        environment=flatten_settings(source.entry("environment").content),
        bad=source.items("bad", lambda entry: BadImage(entry.text("path"), entry.text("reason"))),
        ceiling=source.percent("ceiling"),
        model_bytes=None if size is None else int(size),
        groups=source.items("groups", _read_group),
        points=source.items("places", _read_point),
        calibration=read_calibration(source.entry("calibration")),
        suspects=source.items("suspects", _read_suspect),
        labels=read_labels(source.entry("labels")),
    )


def _read_measures(entry: Entry) -> Measures:
    at = entry.entry("accuracy_at")
    values = [(k, at.percent(str(k))) for k in range(1, 11)]
    return Measures(
        n=entry.count("n"),
        bad=entry.count("bad"),
        unknown=entry.count("unknown"),
        classes=entry.count("classes"),
        top1=entry.percent("top1"),
        top5=entry.percent("top5"),
        class_top1=entry.percent("class_top1"),
        class_top5=entry.percent("class_top5"),
        mean_precision=entry.percent("map"),
        accuracy_at=tuple((k, value) for k, value in values if value is not None),
        seconds=entry.number("seconds", LARGEST_COUNT),
    )


def _read_class(entry: Entry) -> ClassRecord:
    n = entry.count("n")
    return ClassRecord(
        name=entry.text("name"),
        train=entry.count("train"),
        n=n,
        top1=entry.percent("top1") if n else None,
        top5=entry.percent("top5") if n else None,
        sample=entry.path("sample"),
        taken_for=entry.items("taken_for", _read_confusion),
        average_precision=entry.percent("average_precision"),
        precision=entry.percent("precision"),
        recall=entry.percent("recall"),
        f1=entry.percent("f1"),
    )


def _read_confusion(entry: Entry) -> Confusion:
    return Confusion(entry.text("name"), entry.count("count"), entry.path("sample"))


def _read_pair(entry: Entry) -> Pair:
    return Pair(
        truth=entry.text("truth"),
        guess=entry.text("guess"),
        count=entry.count("count"),
        sample=entry.path("sample"),
        guess_sample=entry.path("guess_sample"),
    )


def _read_suspect(entry: Entry) -> Suspect:
    return Suspect(
        entry.path("sample"),
        entry.text("given"),
        entry.text("suggested"),
        entry.percent("probability"),
    )


def _read_group(entry: Entry) -> Group:
    names = entry.content.get("names")
    if not isinstance(names, list | tuple):
        raise entry.damage(f"{entry.where}.names", "a list")
    return Group(tuple(clean_text(name) for name in names), entry.count("size"))


def _read_point(entry: Entry) -> MapPoint:
    return MapPoint(entry.text("name"), entry.percent("x") or 0.0, entry.percent("y") or 0.0)


def _read_epoch(entry: Entry) -> Epoch:
    return Epoch(
        epoch=entry.number("epoch", LARGEST_COUNT) or 0,
        top1=entry.percent("top1"),
        top5=entry.percent("top5"),
        seconds=entry.number("seconds", LARGEST_COUNT),
        gap=entry.number("gap", LARGEST_COUNT),
    )


def _read_trial(entry: Entry) -> Trial:
    settings: list[tuple[str, float | str]] = []
    for key, value in entry.content.items():
        if key in ("top1", "top5") or value is None:
            continue
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        fits = plain and abs(value) <= LARGEST_COUNT  # false for NaN too
        settings.append((clean_text(key), value if fits else clean_text(value)))
    return Trial(tuple(settings), entry.percent("top1"), entry.percent("top5"))


def flatten_settings(content: Mapping[Any, Any]) -> tuple[tuple[str, str], ...]:
    """Return nested settings as lines of a dotted name and a short value."""
    lines: list[tuple[str, str]] = []

    def visit(value: Any, name: str, depth: int) -> None:
        if isinstance(value, Mapping) and value and depth < DEEPEST_SETTING:
            for key, item in value.items():
                visit(item, f"{name}.{key}" if name else str(key), depth + 1)
        elif len(lines) < MOST_SETTINGS:
            lines.append((clean_text(name), _show_setting(value)))

    visit(content, "", 0)
    return tuple(line for line in lines if line[0])


def _show_setting(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        # What is inside its values is shown as Python writes it: settings are seldom so deep.
        deep = (list, tuple, Mapping)
        listed = {n: v if isinstance(v, deep) else _show_setting(v) for n, v in value.items()}
        return clean_text(", ".join(f"{name} {shown}" for name, shown in listed.items()))
    if isinstance(value, list | tuple):
        between = "; " if any(isinstance(item, Mapping) for item in value) else ", "
        shown = between.join(_show_setting(item) for item in value[:20])
        return clean_text(shown + (f", … ({len(value)} in all)" if len(value) > 20 else ""))
    return clean_text(value)
