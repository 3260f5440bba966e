"""The classes and pairs of classes that a report shows with pictures, and these pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from myriad.progress import Progress
from myriad.report.entries import clean_text
from myriad.report.evidence import ClassRecord, Evidence, Pair, Suspect
from myriad.report.thumbnails import Image, Thumbnails, encode_thumbnail
from myriad.report.wording import show_suggestion

ExplainMistake = Callable[[str, str, str], Image | None]
"""Returns the image of a path with the parts that support a prediction rather than the true class;
called with the path, the predicted class and the true one."""

MOST_CLASSES = 12
MOST_PAIRS = 24
MOST_EXPLAINED = 8
MOST_SUSPECTS = 24
MOST_TAKEN_FOR = 3
SMALL_SIDE = 64


@dataclass(frozen=True)
class ConfusionCard:
    """A class that another one was mistaken for: its name, how often, and such an image."""

    name: str
    count: int
    picture: str | None


@dataclass(frozen=True)
class ClassCard:
    """A class with a picture, and the classes that it was most often mistaken for."""

    record: ClassRecord
    picture: str | None
    taken_for: tuple[ConfusionCard, ...]


@dataclass(frozen=True)
class PairCard:
    """A confused pair with a picture of each; `of` is the number of images of the true class.

    `reason` is the first picture with the parts that support the prediction, if known.
    """

    pair: Pair
    of: int
    picture: str | None
    guess_picture: str | None
    reason: str | None = None


@dataclass(frozen=True)
class ImageCard:
    """An image with what is written below it.

    Attributes
    ----------
    picture : its thumbnail as a ``data:`` address; None if it cannot be read.
    label, note : its class, and a remark.
    path : for the tooltip; the name of the file is written below the image.
    """

    picture: str | None
    label: str
    note: str
    path: str

    @property
    def file(self) -> str:
        """The last part of the path."""
        return self.path.replace("\\", "/").rpartition("/")[2]


@dataclass(frozen=True)
class Highlights:
    """The cards of a report."""

    worst: tuple[ClassCard, ...]
    best: tuple[ClassCard, ...]
    pairs: tuple[PairCard, ...]
    suspects: tuple[ImageCard, ...] = ()


def choose_extremes(
    classes: Sequence[ClassRecord], most: int = MOST_CLASSES
) -> tuple[list[ClassRecord], list[ClassRecord]]:
    """Return the worst and the best classes by their rates, none in both.

    Among equals the class with more images comes first, because its rate is more certain. A class
    with a rate of 100 is never among the worst, one with 0 never among the best.
    """
    known = [item for item in classes if item.rate is not None]
    poor = [item for item in known if item.rate != 100]
    good = [item for item in known if item.rate != 0]
    poor.sort(key=lambda item: (item.rate, -item.n, item.top5 or 0))
    good.sort(key=lambda item: (-(item.rate or 0), -item.n, -(item.top5 or 0)))
    n_worst = max((len(known) + 1) // 2, len(known) - len(good))
    worst = poor[: min(most, n_worst)]
    taken = {id(item) for item in worst}
    best = [item for item in good if id(item) not in taken][:most]
    return worst, best


def gather_highlights(
    evidence: Evidence,
    thumbnails: Thumbnails,
    progress: Progress,
    explain: ExplainMistake | None = None,
) -> Highlights:
    """Return the cards of a report with their pictures, which is the slow part of a report.

    Parameters
    ----------
    explain : draws why an image was misclassified; the most frequent mistakes are explained.
    """
    worst, best = choose_extremes(evidence.classes)
    pairs = sorted(evidence.pairs, key=lambda pair: -pair.count)[:MOST_PAIRS]
    evaluated = {item.name: item.n for item in evidence.classes}
    suspects = evidence.suspects[:MOST_SUSPECTS]
    total = len(worst) + len(best) + len(pairs) + len(suspects)
    with progress.step("Rendering examples for the report", total, "examples") as advance:

        def make_card(record: ClassRecord) -> ClassCard:
            advance(1)
            return _make_class_card(record, thumbnails)

        def make_pair(pair: Pair) -> PairCard:
            advance(1)
            picture = thumbnails.find(pair.sample)
            guess_picture = thumbnails.find(pair.guess_sample)
            reason = None
            if explain is not None and picture is not None and pair in pairs[:MOST_EXPLAINED]:
                drawn = explain(str(pair.sample), pair.guess, pair.truth)
                reason = None if drawn is None else encode_thumbnail(drawn)
            return PairCard(pair, evaluated.get(pair.truth, 0), picture, guess_picture, reason)

        def make_suspect(suspect: Suspect) -> ImageCard:
            advance(1)
            picture = thumbnails.find(suspect.sample)
            note = show_suggestion(suspect.suggested, suspect.probability)
            return ImageCard(picture, suspect.given, note, clean_text(suspect.sample or ""))

        return Highlights(
            worst=tuple(make_card(record) for record in worst),
            best=tuple(make_card(record) for record in best),
            pairs=tuple(make_pair(pair) for pair in pairs),
            suspects=tuple(make_suspect(suspect) for suspect in suspects),
        )


def _make_class_card(record: ClassRecord, thumbnails: Thumbnails) -> ClassCard:
    taken_for = sorted(record.taken_for, key=lambda confusion: -confusion.count)[:MOST_TAKEN_FOR]
    cards = (
        ConfusionCard(item.name, item.count, thumbnails.find(item.sample, SMALL_SIDE))
        for item in taken_for
    )
    return ClassCard(record, thumbnails.find(record.sample), tuple(cards))
