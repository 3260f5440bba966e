"""From the anatomy of a store to one HTML file, in the look of a model's report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from myriad.pipelines.anatomy import Anatomy
from myriad.report import wording
from myriad.report.evidence import clean_text, flatten_settings
from myriad.report.page import MANY_BAD, MOST_BAD_SHOWN, check_place, render_page, write_page
from myriad.report.sections import list_sections


def write_store_report(anatomy: Anatomy, path: Path) -> None:
    """Write the report of a store as one self-contained HTML file, whole or not at all."""
    check_place(path)
    write_page(render_store_report(anatomy), path)


def render_store_report(anatomy: Anatomy) -> str:
    """Return the report as the text of an HTML page."""
    bad = [(clean_text(item["path"]), clean_text(item["reason"])) for item in anatomy.bad]
    return render_page(
        "store.html",
        anatomy=anatomy,
        title=clean_text(anatomy.title) or "Untitled store",
        created=wording.show_time(anatomy.created),
        sections=list_sections(anatomy),
        settings=flatten_settings(anatomy.settings),
        bad=bad[:MOST_BAD_SHOWN],
        n_bad=len(bad),
        many_bad=MANY_BAD,
        bad_reasons=Counter(reason for _, reason in bad).most_common(5),
    )
