"""Findings of a check: what is wrong, how much of it, and what to do, in plain sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Ints
from myriad.checks.components import join_pairs
from myriad.checks.duplicates import DuplicatePair
from myriad.checks.quality import KINDS

HELD_OUT = ("test", "val", "train", "")
"""Splits, in the order of preference for keeping a group of duplicates in."""
FEW_IMAGES = 5
"""Training images below which a class has too few."""
UNEVEN = 20
"""How many times larger the largest class may be than the smallest."""
MANY_BAD = 0.05


@dataclass(frozen=True, eq=False)
class Sample:
    """The labelled items that are checked: images or rows.

    Attributes
    ----------
    noun : "image" or "row".
    paths : of each item.
    labels : int32 (n,), -1 if unknown.
    class_names : by label.
    splits : of each item, "" if not stated.
    bad : path and reason of each image that cannot be read.
    fixable : whether a manifest can name the items, so that ``--fix`` can leave some out.
    """

    noun: str
    paths: Sequence[str]
    labels: Ints
    class_names: Sequence[str]
    splits: NDArray[np.str_]
    bad: Sequence[Mapping[str, str]] = ()
    fixable: bool = True

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def stated_splits(self) -> list[str]:
        """The splits that items have, train first."""
        splits = set(self.splits.tolist())
        return [split for split in reversed(HELD_OUT) if split in splits]

    def count_classes(self, split: str | None = None) -> NDArray[np.int64]:
        """Return the number of items of each class, of all splits or one."""
        known = self.labels >= 0
        if split is not None:
            known &= self.splits == split
        return np.bincount(self.labels[known], minlength=len(self.class_names))


@dataclass(frozen=True)
class Finding:
    """A problem of the data.

    Attributes
    ----------
    kind : a short name, such as "leak".
    serious : whether results would be wrong or misleading, so that ``--strict`` fails.
    count : how many items or groups it concerns.
    sentence : what it is, and what to do.
    """

    kind: str
    serious: bool
    count: int
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class DuplicateGroup:
    """Items that are copies of one another.

    Attributes
    ----------
    items : their numbers, sorted.
    exact : whether all are equal, byte for byte.
    mirrored : whether some are mirror images.
    classes : their labels, sorted; several if the same picture is in several classes.
    splits : their splits.
    """

    items: list[int]
    exact: bool
    mirrored: bool
    classes: list[int]
    splits: list[str] = field(default_factory=list)

    @property
    def leaks(self) -> bool:
        """Whether it has items in several stated splits."""
        return len(set(self.splits) - {""}) > 1

    @property
    def contradicts(self) -> bool:
        """Whether its items have different labels."""
        return len(self.classes) > 1


def group_duplicates(pairs: Sequence[DuplicatePair], sample: Sample) -> list[DuplicateGroup]:
    """Return groups of copies, those first that leak, then those with several labels."""
    components = join_pairs(((pair.first, pair.second) for pair in pairs), len(sample))
    inexact, mirrored = set(), set()
    for pair in pairs:
        root = components.find(pair.first)
        inexact |= set() if pair.exact else {root}
        mirrored |= {root} if pair.mirrored else set()
    groups = [
        DuplicateGroup(
            items,
            exact=items[0] not in inexact,
            mirrored=items[0] in mirrored,
            classes=sorted(set(sample.labels[items].tolist())),
            splits=sorted(set(sample.splits[items].tolist()), key=HELD_OUT.index),
        )
        for items in components.groups()
    ]
    return sorted(groups, key=lambda group: (not group.leaks, not group.contradicts))


def find_bad(sample: Sample) -> list[Finding]:
    """Return the finding on files that cannot be read, if any."""
    n_bad, n = len(sample.bad), len(sample) + len(sample.bad)
    if not n_bad:
        return []
    reasons = Counter(item["reason"] for item in sample.bad).most_common(3)
    listed = ", ".join(f"{reason} ({count:,})" for reason, count in reasons)
    return [
        Finding(
            "bad",
            n_bad > MANY_BAD * n,
            n_bad,
            f"{n_bad:,} of {n:,} images cannot be read and would be left out: {listed}. "
            "Copy them again or remove them.",
        )
    ]


def find_class_faults(sample: Sample, alike: Sequence[Sequence[str]]) -> list[Finding]:
    """Return the findings on the sizes and the names of classes."""
    findings = []
    if alike:
        first = " and ".join(repr(name) for name in alike[0])
        findings.append(
            Finding(
                "names",
                True,
                len(alike),
                f"Names of classes that differ only in case, spacing or Unicode form: {first}"
                f"{_more(len(alike) - 1)}. Use one name for each class.",
            )
        )
    stated = "train" in sample.stated_splits
    sizes = sample.count_classes()
    training = sample.count_classes("train") if stated else sizes
    (known,) = np.nonzero(sizes)
    if len(known) == 1:
        findings.append(
            Finding(
                "single",
                True,
                1,
                f"There is only one class, {sample.class_names[known[0]]!r}: a model needs at "
                "least two.",
            )
        )
    missing = np.flatnonzero((training == 0) & (sizes > 0))
    if len(missing):
        first = sample.class_names[missing[0]]
        findings.append(
            Finding(
                "untrained",
                True,
                len(missing),
                f"Classes without a training {sample.noun}, which no model can learn: {first!r}"
                f"{_more(len(missing) - 1)}.",
            )
        )
    few = np.flatnonzero((training > 0) & (training < FEW_IMAGES))
    if len(few):
        least = few[np.argmin(training[few])]
        findings.append(
            Finding(
                "few",
                False,
                len(few),
                f"{_count(len(few), 'class has', 'classes have')} fewer than {FEW_IMAGES} "
                f"{'training ' if stated else ''}{sample.noun}s; {sample.class_names[least]!r} has "
                f"{training[least]}. Expect low accuracy on "
                f"{'it' if len(few) == 1 else 'them'}, or collect more.",
            )
        )
    usual = training[training >= FEW_IMAGES]
    if len(usual) > 1 and usual.max() > UNEVEN * usual.min():
        findings.append(
            Finding(
                "uneven",
                False,
                int(usual.max()),
                f"The largest class has {usual.max() / usual.min():.0f} times as many "
                f"{sample.noun}s as the smallest: compare models by the mean over classes.",
            )
        )
    return findings


def find_duplicate_faults(sample: Sample, groups: Sequence[DuplicateGroup]) -> list[Finding]:
    """Return the findings on duplicates across splits, across classes and within classes."""
    findings = []
    leaks = [group for group in groups if group.leaks]
    if leaks:
        parts = _count_leaks(sample, leaks)
        findings.append(
            Finding(
                "leak",
                True,
                len(leaks),
                f"{_count(len(leaks), 'picture is', 'pictures are')} in more than one split: "
                f"{parts}. They inflate the accuracy, compared with new {sample.noun}s."
                f"{_advise(sample, 'without them')}",
            )
        )
    several = [group for group in groups if group.contradicts]
    if several:
        first = " and ".join(repr(sample.class_names[c]) for c in several[0].classes[:2] if c >= 0)
        findings.append(
            Finding(
                "contradiction",
                True,
                len(several),
                f"{_count(len(several), 'picture is', 'pictures are')} in several classes, such as "
                f"{first}: decide which label is right.",
            )
        )
    inside = [group for group in groups if not group.leaks and not group.contradicts]
    exact = sum(len(group.items) - 1 for group in inside if group.exact)
    near = [group for group in inside if not group.exact]
    if exact:
        findings.append(
            Finding(
                "copies",
                False,
                exact,
                f"{_count(exact, f'{sample.noun} is a copy', f'{sample.noun}s are copies')} of "
                "another one of the same class, byte for byte."
                f"{_advise(sample, 'without it' if exact == 1 else 'without them')}",
            )
        )
    if near:
        n_items = sum(len(group.items) for group in near)
        findings.append(
            Finding(
                "near",
                False,
                len(near),
                f"{_count(n_items, sample.noun)} form {_count(len(near), 'group')} of near "
                "duplicates within classes."
                + _advise(
                    sample,
                    "in which each is a group, so that validation is not drawn from the pictures "
                    "that are trained on",
                ),
            )
        )
    return findings


def find_odd_images(odd: Mapping[str, Sequence[int]], usual: Mapping[str, int]) -> list[Finding]:
    """Return the findings on images of little use for training; see `group_image_faults`."""
    findings = [
        Finding(
            kind,
            False,
            len(items),
            f"{_count(len(items), 'image is', 'images are')} {kind}: {KINDS[kind]}.",
        )
        for kind, items in odd.items()
    ]
    findings += [
        Finding(
            kind,
            False,
            count,
            f"{count:,} images are {kind} ({KINDS[kind]}), which seems normal for these data.",
        )
        for kind, count in usual.items()
    ]
    return findings


def _count_leaks(sample: Sample, leaks: Sequence[DuplicateGroup]) -> str:
    """Return how many items of each held-out split have a copy in a split that comes before."""
    parts = []
    for split in ("val", "test"):
        others = [group for group in leaks if split in group.splits]
        items = [i for group in others for i in group.items if sample.splits[i] == split]
        if items:
            total = int((sample.splits == split).sum())
            also = {other for group in others for other in group.splits} - {split, ""}
            named = " or ".join(sorted(also, key=HELD_OUT.index, reverse=True))
            parts.append(f"{len(items):,} of {total:,} {split} {sample.noun}s are also in {named}")
    return ", ".join(parts)


def _advise(sample: Sample, what: str) -> str:
    """Return a sentence on the manifest of ``--fix``; for a store or an archive there is none."""
    return f" --fix writes a manifest {what}." if sample.fixable else ""


def _more(n: int) -> str:
    return f" and {n:,} more" if n else ""


def _count(n: int, singular: str, plural: str | None = None) -> str:
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"
