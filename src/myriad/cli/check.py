"""``myriad check``: what is wrong with images and labels, before any training."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.shared_options import DataArgument
from myriad.cli.tables import print_facts, print_summary, print_table
from myriad.cli.text import format_seconds, printable
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.checking.check import Checked

WIDTH = 80
SHOWN_CLASSES = 5
"""Smallest classes that the terminal shows; the page shows all."""


@dataclass(frozen=True)
class Result:
    """The findings of a check, and whether they make the command fail."""

    checked: Checked
    strict: bool

    @property
    def exit_status(self) -> int:
        """1 with ``--strict`` if something serious was found."""
        return int(self.strict and self.checked.serious)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``--json``."""
        return self.checked.to_json()


def show(result: Result, run: Run) -> None:
    """Print counts, what was found in sentences, and what to do next."""
    checked = result.checked
    sample = checked.sample
    print_facts(describe(checked))
    splits = sample.stated_splits
    sizes = sample.count_classes()
    if len(splits) > 1 or len(sample.class_names) <= 2 * SHOWN_CLASSES:
        order = sorted(range(len(sizes)), key=lambda c: sizes[c])[:SHOWN_CLASSES]
        counts = {split: sample.count_classes(split) for split in splits}
        rows = [
            [textwrap.shorten(sample.class_names[c], 40), *(int(counts[s][c]) for s in splits)]
            for c in order
        ]
        title = "Smallest classes" if len(sizes) > SHOWN_CLASSES else "Classes"
        print_table([title, *(split or f"{sample.noun}s" for split in splits)], rows)
    print()
    if not checked.findings:
        print("No problems were found.")
    for finding in checked.findings:
        mark = "! " if finding.serious else "- "
        text = printable(mark + finding.sentence)
        print("\n".join(textwrap.wrap(text, WIDTH - 1, subsequent_indent="  ")))
    paths: dict[str, Any] = {"Report": checked.report}
    commands: list[tuple[Any, ...]] = []
    source = checked.data
    if checked.fixed is not None:
        paths["Manifest"] = f"{checked.fixed} ({checked.n_fixed:,} images)"
        source = checked.fixed
    corrections: tuple[Any, ...] = ()
    if checked.labels is not None:
        paths["Labels"] = checked.labels.file
        if checked.labels.n_likely:  # an unedited file changes only these
            corrections = ("--corrections", checked.labels.file)
    commands.append(("myriad", "train", source, "--out", "MODEL", *corrections))
    print_summary(paths, commands)


def describe(checked: Checked) -> dict[str, Any]:
    """Return what was checked, in numbers."""
    sample = checked.sample
    facts: dict[str, Any] = {
        f"{sample.noun.capitalize()}s": len(sample),
        "Classes": len(sample.class_names),
    }
    splits = sample.stated_splits
    if splits != [""]:
        counts = [f"{split or 'unsplit'} {(sample.splits == split).sum():,}" for split in splits]
        facts["Splits"] = ", ".join(counts)
    if sample.noun == "image":
        sizes = checked.facts["sizes"]
        shown = (f"{name} {w} x {h}" for name, (w, h) in sizes.items())
        facts["Sizes"] = ", ".join(shown)
        for name in ("formats", "modes"):
            listed = (f"{word} {count:,}" for word, count in checked.facts[name].items())
            facts[name.capitalize()] = ", ".join(listed)
    return facts | {"Time": format_seconds(checked.seconds)}


@verb(show=show, writes=["out", "fix"])
def check(
    data: DataArgument,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the HTML page and the CSV lists.", show_default="NAME.check"),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels",
            help="Find labels that may be wrong, by cross-validation.",
        ),
    ] = False,
    fix: Annotated[
        Path | None,
        typer.Option(
            help="Write a CSV manifest without duplicates, in which near duplicates share a group.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 if serious problems were found.")
    ] = False,
    run: Run,
) -> Result:
    """Check images and labels before training: bad files, duplicates, leaks, wrong labels.

    Example: myriad check photos
    """
    from myriad.locks import locked
    from myriad.pipelines.checking.check import check as work
    from myriad.pipelines.outputs import check_beside
    from myriad.report.check_page import write_check_report

    folder = out or check_beside(data)
    with (
        locked(folder, progress=run.progress),
        locked(fix, make_parents=False, progress=run.progress),
    ):
        checked = work(
            data,
            folder,
            labels=labels,
            fix=fix,
            run=run,
        )
        write_check_report(checked, checked.report)
    return Result(checked, strict)
