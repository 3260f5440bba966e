"""The page of a check: what was found in the data, with pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from myriad.checks.findings import DuplicateGroup
from myriad.checks.quality import KINDS
from myriad.pipelines.checking.check import Checked, name_class
from myriad.pipelines.evidence.documentation import read_picture
from myriad.report.entries import clean_text
from myriad.report.highlights import ImageCard
from myriad.report.page import MANY_BAD, MOST_BAD_SHOWN, check_folder, render_page, write_page
from myriad.report.thumbnails import ReadImage, Thumbnails
from myriad.report.wording import plural, show_suggestion

MOST_GROUPS, MOST_COPIES = 60, 6
"""Groups of copies that are shown, and pictures of each."""
MOST_ODD = 12
MOST_LABELS = 100
MOST_CLASSES = 5000


@dataclass(frozen=True)
class Copies:
    """A group of copies: what is special about it, some images, and how many more there are."""

    title: str
    images: tuple[ImageCard, ...]
    more: int


@dataclass(frozen=True)
class Odd:
    """Unusual images of one kind."""

    kind: str
    meaning: str
    images: tuple[ImageCard, ...]
    total: int


def write_check_report(
    checked: Checked, path: Path, *, read_image: ReadImage = read_picture
) -> None:
    """Write the page of a check as one self-contained HTML file, atomically."""
    check_folder(path)
    write_page(render_check_report(checked, read_image=read_image), path)


def render_check_report(checked: Checked, *, read_image: ReadImage = read_picture) -> str:
    """Return the page as the text of an HTML page."""
    sample, thumbnails = checked.sample, Thumbnails(read_image)
    bad = [(clean_text(item["path"]), clean_text(item["reason"])) for item in sample.bad]
    splits = sample.stated_splits
    counts = [sample.count_classes(split) for split in splits]
    return render_page(
        "check.html",
        title=clean_text(checked.data.name or checked.data.resolve().name),
        noun=sample.noun,
        n=len(sample),
        n_classes=len(sample.class_names),
        seconds=checked.seconds,
        findings=[
            (finding.serious, clean_sentence(finding.sentence)) for finding in checked.findings
        ],
        facts=_list_facts(checked),
        groups=[_show_group(checked, group, thumbnails) for group in checked.groups[:MOST_GROUPS]],
        n_groups=len(checked.groups),
        odd=[
            Odd(kind, KINDS[kind], _show(checked, items[:MOST_ODD], thumbnails), len(items))
            for kind, items in checked.odd.items()
        ],
        labels=_show_labels(checked, thumbnails),
        n_labels=0 if checked.labels is None else len(checked.labels.wrong),
        n_likely=0 if checked.labels is None else checked.labels.n_likely,
        n_sure=0 if checked.labels is None else checked.labels.n_sure,
        labels_file="" if checked.labels is None else clean_text(checked.labels.file.name),
        twins=_list_twins(checked),
        alike=[[repr(clean_text(name)) for name in names] for names in checked.alike],
        splits=[split or f"{sample.noun}s" for split in splits],
        classes=[
            (clean_text(name), [int(count[c]) for count in counts])
            for c, name in enumerate(sample.class_names[:MOST_CLASSES])
        ],
        bad=bad[:MOST_BAD_SHOWN],
        n_bad=len(bad),
        many_bad=MANY_BAD,
        bad_reasons=Counter(reason for _, reason in bad).most_common(5),
    )


def clean_sentence(sentence: str) -> str:
    """Return a sentence that can be shown, whole."""
    return "".join(clean_text(sentence[i : i + 200]) for i in range(0, len(sentence), 200))


def _list_facts(checked: Checked) -> list[tuple[str, str]]:
    """Return sizes, formats and colour modes as names and values."""
    facts = []
    if "sizes" in checked.facts:
        for name, (width, height) in checked.facts["sizes"].items():
            facts.append((f"{name} image", f"{width} × {height} pixels"))
        for name, title in (("formats", "formats"), ("modes", "colour modes")):
            listed = (f"{word} {count:,}" for word, count in checked.facts[name].items())
            facts.append((title, ", ".join(listed)))
    return facts


def _show(
    checked: Checked,
    items: Sequence[int],
    thumbnails: Thumbnails,
    notes: Sequence[str] | None = None,
) -> tuple[ImageCard, ...]:
    sample = checked.sample
    return tuple(
        ImageCard(
            thumbnails.find(sample.paths[i]),
            clean_text(name_class(sample, int(sample.labels[i]))),
            clean_text(str(sample.splits[i]) if notes is None else notes[at]),
            clean_text(sample.paths[i]),
        )
        for at, i in enumerate(items)
    )


def _show_group(checked: Checked, group: DuplicateGroup, thumbnails: Thumbnails) -> Copies:
    parts = ["equal files" if checked.sample.noun == "image" else "equal rows"]
    parts = parts if group.exact else ["near duplicates"]
    parts += ["some mirrored"] if group.mirrored else []
    parts += [f"in {' and '.join(filter(None, group.splits))}"] if group.leaks else []
    parts += [f"in {len(group.classes)} classes"] if group.contradicts else []
    title = f"{plural(len(group.items), checked.sample.noun)}: {', '.join(parts)}"
    shown = _pick(checked, group)
    return Copies(title, _show(checked, shown, thumbnails), len(group.items) - len(shown))


def _pick(checked: Checked, group: DuplicateGroup) -> list[int]:
    """Return images of a group to show: first one of each class and split."""
    sample = checked.sample
    first: dict[tuple[int, str], int] = {}
    for item in group.items:
        first.setdefault((int(sample.labels[item]), str(sample.splits[item])), item)
    chosen = list(first.values())[:MOST_COPIES]
    rest = [item for item in group.items if item not in set(chosen)]
    return sorted(chosen + rest[: MOST_COPIES - len(chosen)])


def _show_labels(checked: Checked, thumbnails: Thumbnails) -> tuple[ImageCard, ...]:
    """Return images whose label may be wrong, each with the suggested one."""
    labels, sample = checked.labels, checked.sample
    if labels is None:
        return ()
    positions = labels.wrong[:MOST_LABELS]
    ranked = labels.ranked
    notes = [
        show_suggestion(sample.class_names[ranked.suggested[at]], 100 * ranked.alternative[at])
        for at in positions
    ]
    items = [int(ranked.held.numbers[at]) for at in positions]
    return _show(checked, items, thumbnails, notes)


def _list_twins(checked: Checked) -> list[dict[str, Any]]:
    names = [clean_text(name) for name in checked.sample.class_names]
    twins = [] if checked.labels is None else checked.labels.twins
    return [
        {"first": names[one.first], "second": names[one.second], "share": 100 * min(1.0, one.share)}
        for one in twins
    ]
