"""The evidence of a report: a dictionary from a model folder, checked and cleaned for display.

The dictionary may come from a damaged or malicious file, so every value is checked: numbers must be
finite and in range, and characters that cannot be written or could alter the page are replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from myriad.report.entries import (
    LARGEST_COUNT,
    Entry,
    Record,
    clean_text,
    number_to,
    read_as,
    records_of,
)
from myriad.report.probability_evidence import Calibration, GivenLabels

Known = TypeVar("Known", bound=Record)
DEEPEST_SETTING = 6
MOST_SETTINGS = 500


def _read_accuracies(entry: Entry, key: str) -> tuple[tuple[int, float], ...]:
    """Return the accuracies at k = 1 to 10, as far as they are known."""
    values = [(k, entry.entry(key).percent(str(k))) for k in range(1, 11)]
    return tuple((k, value) for k, value in values if value is not None)


def _read_accuracy(entry: Entry, key: str) -> float | None:
    """Return the accuracy of a class; None if no image of it was evaluated."""
    return entry.percent(key) if entry.count("n") else None


def _read_coordinate(entry: Entry, key: str) -> float:
    return entry.percent(key) or 0.0


def _read_names(entry: Entry, key: str) -> tuple[str, ...]:
    names = entry.content.get(key)
    if not isinstance(names, list | tuple):
        raise entry.damage(f"{entry.where}.{key}", "a list")
    return tuple(clean_text(name) for name in names)


@dataclass(frozen=True)
class Measures(Record):
    """How well a model did on one split; percentages from 0 to 100, None where unknown."""

    n: int = read_as(Entry.count)
    bad: int = read_as(Entry.count)
    unknown: int = read_as(Entry.count)
    classes: int = read_as(Entry.count)
    top1: float | None = read_as(Entry.percent)
    top5: float | None = read_as(Entry.percent)
    class_top1: float | None = read_as(Entry.percent)
    class_top5: float | None = read_as(Entry.percent)
    mean_precision: float | None = read_as(Entry.percent, "map")
    accuracy_at: tuple[tuple[int, float], ...] = read_as(_read_accuracies)
    seconds: float | None = read_as(number_to(LARGEST_COUNT))


@dataclass(frozen=True)
class Confusion(Record):
    """A class that images of another one were mistaken for, and how often."""

    name: str = read_as(Entry.text)
    count: int = read_as(Entry.count)
    sample: str | None = read_as(Entry.path)


@dataclass(frozen=True)
class ClassRecord(Record):
    """One class: training images, evaluated images, accuracies (None if none was evaluated).

    Where images may have several labels, there is an average precision; and if the model gives
    labels, their precision, recall and F1.
    """

    name: str = read_as(Entry.text)
    train: int = read_as(Entry.count)
    n: int = read_as(Entry.count)
    top1: float | None = read_as(_read_accuracy)
    top5: float | None = read_as(_read_accuracy)
    sample: str | None = read_as(Entry.path)
    taken_for: tuple[Confusion, ...] = read_as(records_of(Confusion))
    average_precision: float | None = read_as(Entry.percent, default=None)
    precision: float | None = read_as(Entry.percent, default=None)
    recall: float | None = read_as(Entry.percent, default=None)
    f1: float | None = read_as(Entry.percent, default=None)

    @property
    def rate(self) -> float | None:
        """The percentage by which classes are compared: average precision, else top-1 accuracy."""
        return self.top1 if self.average_precision is None else self.average_precision


@dataclass(frozen=True)
class Pair(Record):
    """Images of class `truth` that were predicted as `guess`, with an image of both."""

    truth: str = read_as(Entry.text)
    guess: str = read_as(Entry.text)
    count: int = read_as(Entry.count)
    sample: str | None = read_as(Entry.path)
    guess_sample: str | None = read_as(Entry.path)


@dataclass(frozen=True)
class Epoch(Record):
    """A point of the learning curve; `gap` is the relative duality gap, where training has one."""

    epoch: float = read_as(lambda entry, key: entry.number(key, LARGEST_COUNT) or 0)
    top1: float | None = read_as(Entry.percent)
    top5: float | None = read_as(Entry.percent)
    seconds: float | None = read_as(number_to(LARGEST_COUNT))
    gap: float | None = read_as(number_to(LARGEST_COUNT), default=None)


@dataclass(frozen=True)
class Trial:
    """Settings that were tried and the accuracy they gave."""

    settings: tuple[tuple[str, float | str], ...]
    top1: float | None
    top5: float | None = None


@dataclass(frozen=True)
class BadImage(Record):
    """An image that was skipped, and why."""

    path: str = read_as(Entry.text)
    reason: str = read_as(Entry.text)


@dataclass(frozen=True)
class Group(Record):
    """Classes whose prototypes are close together: some of their names, and how many there are."""

    names: tuple[str, ...] = read_as(_read_names)
    size: int = read_as(Entry.count)


@dataclass(frozen=True)
class MapPoint(Record):
    """The position of a class on the map, both coordinates from 0 to 100."""

    name: str = read_as(Entry.text)
    x: float = read_as(_read_coordinate)
    y: float = read_as(_read_coordinate)


@dataclass(frozen=True)
class Suspect(Record):
    """An image whose label may be wrong, and the label that is suggested."""

    sample: str | None = read_as(Entry.path)
    given: str = read_as(Entry.text)
    suggested: str = read_as(Entry.text)
    probability: float | None = read_as(Entry.percent)


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
        measures=Measures.read(source.entry("measures")),
        history=source.items("history", Epoch.read),
        search=source.items("search", _read_trial),
        classes=source.items("classes", ClassRecord.read),
        pairs=source.items("pairs", Pair.read),
        settings=flatten_settings(source.entry("settings").content),
        environment=flatten_settings(source.entry("environment").content),
        bad=source.items("bad", BadImage.read),
        ceiling=source.percent("ceiling"),
        model_bytes=None if size is None else int(size),
        groups=source.items("groups", Group.read),
        points=source.items("places", MapPoint.read),
        calibration=_read_known(Calibration, source.entry("calibration")),
        suspects=source.items("suspects", Suspect.read),
        labels=_read_known(GivenLabels, source.entry("labels")),
    )


def _read_known(kind: type[Known], entry: Entry) -> Known | None:
    """Return the record of an entry; None if it is empty."""
    return kind.read(entry) if entry.content else None


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
