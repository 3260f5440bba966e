"""The report of a store: one HTML file in the style of a model's report."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from myriad.pipelines.store_inspection import StoreInspection
from myriad.report import wording
from myriad.report.evidence import clean_text, flatten_settings
from myriad.report.page import MANY_BAD, MOST_BAD_SHOWN, check_place, render_page, write_page
from myriad.report.sections import list_sections


def write_store_report(inspection: StoreInspection, path: Path) -> None:
    """Write the report of a store as one self-contained HTML file, whole or not at all."""
    check_place(path)
    write_page(render_store_report(inspection), path)


def render_store_report(inspection: StoreInspection) -> str:
    """Return the report as the text of an HTML page."""
    bad = [(clean_text(item["path"]), clean_text(item["reason"])) for item in inspection.bad]
    return render_page(
        "store.html",
        inspection=inspection,
        title=clean_text(inspection.title) or "Untitled store",
        created=wording.show_time(inspection.created),
        sections=list_sections(inspection),
        settings=flatten_settings(inspection.settings),
        bad=bad[:MOST_BAD_SHOWN],
        n_bad=len(bad),
        many_bad=MANY_BAD,
        bad_reasons=Counter(reason for _, reason in bad).most_common(5),
    )
