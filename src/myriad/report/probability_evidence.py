"""The part of a report's evidence that is about probabilities, prediction sets and given labels."""

from __future__ import annotations

from dataclasses import dataclass

from myriad.report.entries import LARGEST_COUNT, Entry, Record, number_to, read_as, records_of


def _read_fraction(entry: Entry, key: str) -> float:
    """Return a fraction as a percentage."""
    return min(100.0, 100.0 * (entry.number(key, 1.001) or 0.0))


def _read_curve(entry: Entry, key: str) -> tuple[tuple[float, float], ...]:
    """Return a list of pairs of percentages."""
    pairs, where = entry.content.get(key), f"{entry.where}.{key}"
    found = []
    for pair in pairs if isinstance(pairs, list | tuple) else ():
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise entry.damage(where, "a list of pairs")
        point = Entry({"x": pair[0], "y": pair[1]}, where)
        found.append((point.percent("x") or 0.0, point.percent("y") or 0.0))
    return tuple(found)


@dataclass(frozen=True)
class ReliabilityBin(Record):
    """Rows of similar confidence: their number, mean confidence and accuracy in percent."""

    count: int = read_as(Entry.count)
    confidence: float = read_as(_read_fraction)
    accuracy: float = read_as(_read_fraction)


@dataclass(frozen=True)
class SetRecord(Record):
    """Prediction sets: the target coverage and reached, their mean size, and top-k beside them."""

    wanted: float | None = read_as(Entry.percent)
    coverage: float | None = read_as(Entry.percent)
    mean_size: float | None = read_as(number_to(LARGEST_COUNT))
    n: int = read_as(Entry.count)
    k: int = read_as(lambda entry, key: entry.entry("top_k").count(key))
    top_k: float | None = read_as(lambda entry, key: entry.entry(key).percent("coverage"))


@dataclass(frozen=True)
class Calibration(Record):
    """How well the probabilities of a model are calibrated, by its calibration rows."""

    rows: int = read_as(Entry.count)
    source: str = read_as(Entry.text)
    error: float | None = read_as(number_to(1.0), "ece")
    chance: float | None = read_as(number_to(1.0), "ece_chance")
    brier: float | None = read_as(number_to(2.001))
    log_loss: float | None = read_as(number_to(LARGEST_COUNT))
    risk_area: float | None = read_as(number_to(1.0))
    bins: tuple[ReliabilityBin, ...] = read_as(records_of(ReliabilityBin))
    curve: tuple[tuple[float, float], ...] = read_as(_read_curve, "risk_coverage")
    sets: tuple[SetRecord, ...] = read_as(records_of(SetRecord))


@dataclass(frozen=True)
class LabelRates(Record):
    """How the labels given to images compare with those they have, in percent."""

    precision: float | None = read_as(Entry.percent)
    recall: float | None = read_as(Entry.percent)
    f1: float | None = read_as(Entry.percent)


def _read_rates(entry: Entry, key: str) -> LabelRates:
    return LabelRates.read(entry.entry(key))


@dataclass(frozen=True)
class GivenLabels(Record):
    """The labels given to images that may have several.

    Attributes
    ----------
    micro, macro : of all labels together, and as the mean over labels.
    given, present, expected : labels an image is given, has, and has by the sum of probabilities.
    brier, log_loss : means over images and labels.
    """

    micro: LabelRates = read_as(_read_rates)
    macro: LabelRates = read_as(_read_rates)
    given: float | None = read_as(number_to(LARGEST_COUNT))
    present: float | None = read_as(number_to(LARGEST_COUNT))
    expected: float | None = read_as(number_to(LARGEST_COUNT))
    calibration_error: float | None = read_as(number_to(1.0))
    brier: float | None = read_as(number_to(1.001))
    log_loss: float | None = read_as(number_to(LARGEST_COUNT))
