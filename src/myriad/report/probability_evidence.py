"""The part of a report's evidence that is about probabilities, prediction sets and given labels."""

from __future__ import annotations

from dataclasses import dataclass

from myriad.report.entries import LARGEST_COUNT, Entry


@dataclass(frozen=True)
class ReliabilityBin:
    """Rows of similar confidence: their number, mean confidence and accuracy in percent."""

    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class SetRecord:
    """Prediction sets: the target coverage and reached, their mean size, and top-k beside them."""

    wanted: float | None
    coverage: float | None
    mean_size: float | None
    n: int
    k: int
    top_k: float | None


@dataclass(frozen=True)
class Calibration:
    """How well the probabilities of a model are calibrated, by its calibration rows."""

    rows: int
    source: str
    error: float | None
    chance: float | None
    brier: float | None
    log_loss: float | None
    risk_area: float | None
    bins: tuple[ReliabilityBin, ...]
    curve: tuple[tuple[float, float], ...]
    sets: tuple[SetRecord, ...]


@dataclass(frozen=True)
class LabelRates:
    """How the labels given to images compare with those they have, in percent."""

    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True)
class GivenLabels:
    """The labels given to images that may have several.

    Attributes
    ----------
    micro, macro : of all labels together, and as the mean over labels.
    given, present, expected : labels an image is given, has, and has by the sum of probabilities.
    brier, log_loss : means over images and labels.
    """

    micro: LabelRates
    macro: LabelRates
    given: float | None
    present: float | None
    expected: float | None
    calibration_error: float | None
    brier: float | None
    log_loss: float | None


def read_labels(entry: Entry) -> GivenLabels | None:
    """Return what is known of the labels given to images; None if nothing is."""
    if not entry.content:
        return None
    return GivenLabels(
        micro=_read_rates(entry.entry("micro")),
        macro=_read_rates(entry.entry("macro")),
        given=entry.number("given", LARGEST_COUNT),
        present=entry.number("present", LARGEST_COUNT),
        expected=entry.number("expected", LARGEST_COUNT),
        calibration_error=entry.number("calibration_error", 1.0),
        brier=entry.number("brier", 1.001),
        log_loss=entry.number("log_loss", LARGEST_COUNT),
    )


def _read_rates(entry: Entry) -> LabelRates:
    return LabelRates(*(entry.percent(name) for name in ("precision", "recall", "f1")))


def read_calibration(entry: Entry) -> Calibration | None:
    """Return what is known of the probabilities; None if nothing is."""
    if not entry.content:
        return None
    return Calibration(
        rows=entry.count("rows"),
        source=entry.text("source"),
        error=entry.number("ece", 1.0),
        chance=entry.number("ece_chance", 1.0),
        brier=entry.number("brier", 2.001),
        log_loss=entry.number("log_loss", LARGEST_COUNT),
        risk_area=entry.number("risk_area", 1.0),
        bins=entry.items("bins", _read_bin),
        curve=_read_curve(entry),
        sets=entry.items("sets", _read_set),
    )


def _read_bin(entry: Entry) -> ReliabilityBin:
    confidence, accuracy = (entry.number(name, 1.001) or 0.0 for name in ("confidence", "accuracy"))
    return ReliabilityBin(
        entry.count("count"), min(100.0, 100.0 * confidence), min(100.0, 100.0 * accuracy)
    )


def _read_curve(entry: Entry) -> tuple[tuple[float, float], ...]:
    pairs = entry.content.get("risk_coverage")
    found = []
    for pair in pairs if isinstance(pairs, list | tuple) else ():
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise entry.damage(f"{entry.where}.risk_coverage", "a list of pairs")
        point = Entry({"x": pair[0], "y": pair[1]}, f"{entry.where}.risk_coverage")
        found.append((point.percent("x") or 0.0, point.percent("y") or 0.0))
    return tuple(found)


def _read_set(entry: Entry) -> SetRecord:
    top_k = entry.entry("top_k")
    return SetRecord(
        wanted=entry.percent("wanted"),
        coverage=entry.percent("coverage"),
        mean_size=entry.number("mean_size", LARGEST_COUNT),
        n=entry.count("n"),
        k=top_k.count("k"),
        top_k=top_k.percent("coverage"),
    )
