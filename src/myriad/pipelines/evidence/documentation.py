"""The documentation in a model folder: evidence of the report, its images, the model card."""

from __future__ import annotations

import json
import platform
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.errors import MyriadError
from myriad.images import read_image
from myriad.images.archive import Archive, open_archive
from myriad.images.thumbnails import make_thumbnail
from myriad.measures import (
    ClassPrecisions,
    Confusion,
    LabelSets,
    Measures,
    count_confusions,
)
from myriad.models import ClassPictures, RowResults
from myriad.parallel import map_ordered, thread_count, thread_executor

MOST_PAIRS = 100
MOST_TAKEN_FOR = 5
SAMPLE_PIXELS = 40_000
CARD = """# {title}

A model that ranks {classes:,} classes, made by myriad.

| | |
|---|---|
{facts}
{accuracy}
## Use

{use}
`model.safetensors` holds all arrays, `config.json` settings and class names. Loading runs no code.
"""
ACCURACY = """
## Accuracy on {n:,} {measured}

| in % | top-1 | top-5 |
|---|---|---|
| over samples | {top1} | {top5} |
| mean over classes | {class_top1} | {class_top5} |
{several}
Settings may have been chosen by these accuracies, so expect slightly lower ones on new data.
"""
SEVERAL = """
Several labels per {reads} are possible; a prediction is correct if one of them is ranked first, or
among the first five. The mean average precision over labels is {map:.1f} %.
"""
USE = """    myriad predict {argument} {file}

or in Python:

    import myriad
    labels, scores = myriad.load({literal}).predict_topk({rows}, k=5)
"""


@dataclass(frozen=True)
class Scored:
    """Scored rows, one entry each.

    Attributes
    ----------
    truths : int32, the class of each row; -1 where the model does not know it.
    guesses : int32, the best class of each row.
    ranks : int32, the rank of the truth.
    paths : where the row's image is, or an empty string.
    results : further results for the rows; see `models.evaluation`.
    sets : all known classes of each row, where it may have several, of which `truths` has one; None
        where each has one.
    precisions : the average precision of each class, where rows may have several.
    suspects : rows whose label may be wrong, plain JSON; see `list_suspects`.
    """

    truths: NDArray[np.int32]
    guesses: NDArray[np.int32]
    ranks: NDArray[np.int32]
    paths: Sequence[str]
    results: RowResults = field(default_factory=dict)
    suspects: list[dict[str, Any]] = field(default_factory=list)
    sets: LabelSets | None = None
    precisions: ClassPrecisions | None = None

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return every known class of every row: the numbers of the rows, and the classes."""
        sets = LabelSets.from_labels(self.truths) if self.sets is None else self.sets
        return sets.pairs()


def gather_evidence(
    scored: Scored,
    measures: Measures,
    *,
    title: str,
    split: str,
    noun: str,
    class_names: Sequence[str],
    train_counts: NDArray[np.int64] | None,
    train_samples: dict[int, str],
    labels: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return a report's evidence as plain JSON.

    Parameters
    ----------
    noun : what a row is called in the report, "image" or "row".
    train_counts : training rows of each class, if known.
    train_samples : a training image of each class, if known.
    labels : what is known of given labels, where rows may have several; see `describe_labels`.
    more : further keys: history, search, settings, bad, data, model_bytes, ceiling,
        calibration.
    """
    confusions = find_confusions(scored, len(class_names))
    by_truth: dict[int, list[Confusion]] = defaultdict(list)
    for confusion in confusions:
        by_truth[confusion.truth].append(confusion)
    classes = _classes(scored, class_names, train_counts, train_samples, by_truth)
    if labels is not None:
        for record, found in zip(classes, labels["each"], strict=True):
            record |= {name: found[name] for name in ("precision", "recall", "f1")}
    return {
        "title": title,
        "split": split,
        "noun": noun,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "measures": measures.to_json(),
        "classes": classes,
        "labels": labels and {name: value for name, value in labels.items() if name != "each"},
        "pairs": [
            {
                "truth": class_names[confusion.truth],
                "guess": class_names[confusion.predicted],
                "count": confusion.count,
                "sample": scored.paths[confusion.row] or None,
                "guess_sample": train_samples.get(confusion.predicted),
            }
            for confusion in confusions[:MOST_PAIRS]
        ],
        "environment": environment(),
        "history": [],
        "search": [],
        "settings": {},
        "bad": [],
        "ceiling": None,
    } | more


def find_confusions(scored: Scored, n_classes: int) -> list[Confusion]:
    """Return the pairs of a class and of the class that its rows were mistaken for.

    A row of several classes whose best class is none of them is a mistake for each of its classes.
    """
    rows, classes = scored.pairs()
    missed = scored.truths[rows] != scored.guesses[rows]
    rows, classes = rows[missed], classes[missed]
    confusions = count_confusions(classes, scored.guesses[rows], n_classes=n_classes)
    return [replace(confusion, row=int(rows[confusion.row])) for confusion in confusions]


def _classes(
    scored: Scored,
    class_names: Sequence[str],
    train_counts: NDArray[np.int64] | None,
    train_samples: dict[int, str],
    by_truth: dict[int, list[Confusion]],
) -> list[dict[str, Any]]:
    rows, truths = scored.pairs()
    ranks, n_classes = scored.ranks[rows], len(class_names)
    sizes = np.bincount(truths, minlength=n_classes)
    hits = {
        k: np.bincount(truths, weights=ranks <= min(k, n_classes), minlength=n_classes)
        for k in (1, 5)
    }
    first = dict(zip(truths[::-1].tolist(), rows[::-1].tolist(), strict=True))
    areas = None if scored.precisions is None else scored.precisions.areas
    return [
        {
            "name": name,
            "train": None if train_counts is None else int(train_counts[c]),
            "n": int(sizes[c]),
            "top1": 100.0 * hits[1][c] / sizes[c] if sizes[c] else None,
            "top5": 100.0 * hits[5][c] / sizes[c] if sizes[c] else None,
            "sample": train_samples.get(c) or (scored.paths[first[c]] if c in first else None),
            "taken_for": [
                {
                    "name": class_names[confusion.predicted],
                    "count": confusion.count,
                    "sample": scored.paths[confusion.row] or None,
                }
                for confusion in by_truth[c][:MOST_TAKEN_FOR]
            ],
        }
        | ({} if areas is None else {"average_precision": areas[c] if sizes[c] else None})
        for c, name in enumerate(class_names)
    ]


def environment() -> dict[str, Any]:
    """Return the versions and the machine of a result."""
    names = ("myriad-learn", "numpy", "numba", "faiss-cpu", "opencv-python-headless", "pyarrow")
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in names},
        "machine": f"{platform.system()} {platform.machine()}",
        "threads": thread_count(None),
    }


def read_picture(
    path: str, *, colour: bool = True, pixels: int | None = SAMPLE_PIXELS
) -> NDArray[np.uint8] | None:
    """Return an image, by default in colour, or None if it no longer exists.

    The image may be in an archive; `path` then begins with the path of the archive.

    Parameters
    ----------
    pixels : minimum number of pixels, if not all are needed; see `read_image`.
    """
    target = Path(path)
    try:
        if target.is_file():
            return read_image(target, colour=colour, min_pixels=pixels)
        for parent in target.parents:
            if parent.is_file():
                content = _open_archive(parent).read(target.relative_to(parent).as_posix())
                return read_image(content, colour=colour, min_pixels=pixels)
    except (MyriadError, OSError):
        return None
    return None


def gather_pictures(evidence: dict[str, Any], *, threads: int | None = None) -> ClassPictures:
    """Return a small picture of each class: that of the sample which the evidence names."""

    def make(sample: str | None) -> bytes | None:
        image = None if sample is None else read_picture(sample)
        return None if image is None else make_thumbnail(image)

    samples = (record["sample"] for record in evidence["classes"])
    with thread_executor(threads) as executor:
        return ClassPictures.of(list(map_ordered(make, samples, executor, ahead=64)))


@lru_cache(maxsize=2)
def _open_archive(path: Path) -> Archive:
    return open_archive(path)


_CONTROLS = dict.fromkeys([*range(32), *range(127, 160)], " ")
"""Control characters, which a terminal obeys when a card is printed."""


def write_card(
    title: str,
    measures: Measures,
    facts: Mapping[str, Any],
    *,
    reads: str,
    measured: str = "held-out rows",
) -> str:
    """Return the text of a model card.

    Parameters
    ----------
    reads : what the model takes, "image" or "row".
    measured : what the accuracies were measured on.
    """
    values = measures.to_json()
    numbers = {
        key: "-" if values[key] is None else f"{values[key]:.1f}"
        for key in ("top1", "top5", "class_top1", "class_top5")
    }
    lines = "\n".join(
        f"| {name.replace('_', ' ')} | {_escape(_spell(value))} |" for name, value in facts.items()
    )
    name = " ".join(title.translate(_CONTROLS).split())
    several = "" if measures.map is None else SEVERAL.format(reads=reads, map=measures.map)
    accuracy = ACCURACY.format(n=measures.n, measured=measured, several=several, **numbers)
    use = USE.format(
        argument=shlex.quote(name),  # inside code, Markdown needs no entities
        literal=json.dumps(name, ensure_ascii=False),
        file="IMAGE..." if reads == "image" else "ROWS.npy",
        rows='["photo.jpg"]' if reads == "image" else "X",
    )
    return CARD.format(
        title=_escape(title),
        classes=measures.classes,
        facts=lines,
        accuracy=accuracy if measures.n else "",
        use=use,
    )


def _spell(value: Any) -> str:
    """Return a setting as people read it: yes or no, few digits, items with commas."""
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case {"sentence": str(sentence)}:
            return sentence
        case dict():
            return ", ".join(f"{name} {_spell(inner)}" for name, inner in value.items())
        case list():
            return ", ".join(map(_spell, value))
        case _:
            return str(value)


def _escape(text: str) -> str:
    """Return text that cannot break out of a table of Markdown, or command a terminal."""
    entities = {ord(character): f"&#{ord(character)};" for character in "\\|<>[]`*_#"}
    return text.translate(entities | _CONTROLS)
