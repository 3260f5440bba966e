from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from myriad.report import write_report
from tests.report.browser import needs_browser, open_page
from tests.report.invention import draw_image, invent_evidence
from tests.report.test_page import HOSTILE, invent_hostile, list_missing

pytestmark = needs_browser


def list_rows(document: str) -> list[str]:
    """Return the names in the class table as the browser shows it."""
    table = document.partition('id="class-table"')[2].partition("</table>")[0]
    return re.findall(r'<th class="name" scope="row" dir="auto">(.*?)</th>', table, flags=re.DOTALL)


def test_console_errors_are_seen(tmp_path: Path) -> None:
    page = tmp_path / "broken.html"
    page.write_text("<script>nothing.of.the.kind()</script>", encoding="utf-8")
    _, said = open_page(page, tmp_path / "profile")
    assert said


def test_table_is_drawn_sorted_and_paged(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    evidence = invent_evidence(2000, per_class=20)
    write_report(evidence, page, read_image=draw_image)
    document, said = open_page(page, tmp_path / "profile")
    assert said == []
    assert list_rows(document) == [f"class {i:04d}" for i in range(25)]
    assert "1 to 25 of 2,000" in document

    document, said = open_page(
        page, tmp_path / "profile", fragment="#classes?sort=top1&down=1&page=2"
    )
    assert said == []
    ranked = sorted(evidence["classes"], key=lambda item: (-item["top1"], item["name"]))
    assert list_rows(document) == [item["name"] for item in ranked[25:50]]
    assert 'aria-sort="descending"' in document


def test_search_finds_hostile_names_as_text(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    evidence = invent_hostile()
    evidence["title"] = "harmless"
    write_report(evidence, page, read_image=draw_image)
    document, said = open_page(
        page, tmp_path / "profile", fragment="#classes?q=" + quote("ONERROR=")
    )
    assert said == []
    assert list_rows(document) == [HOSTILE[1].replace("<", "&lt;").replace(">", "&gt;")]
    assert f"1 of {len(HOSTILE)}" in document
    assert document.partition("<title>")[2].startswith("harmless")

    document, said = open_page(page, tmp_path / "profile", fragment="#classes?q=" + quote("ETE"))
    assert said == []
    assert list_rows(document) == [HOSTILE[4]]


def test_tiny_and_empty_reports_run_without_errors(tmp_path: Path) -> None:
    tiny = invent_evidence(2)
    list_missing(tiny)
    for evidence in (tiny, {"measures": {}}):
        page = tmp_path / "report.html"
        write_report(evidence, page, read_image=lambda path: None)
        document, said = open_page(page, tmp_path / "profile", fragment="#classes?q=zzz&page=9")
        assert said == []
        assert list_rows(document) == []


def test_narrow_page_does_not_scroll_sideways(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    write_report(invent_hostile(), page, read_image=draw_image)
    measure = "<script>document.title = document.documentElement.scrollWidth</script></body>"
    text = page.read_text(encoding="utf-8").replace("Content-Security-Policy", "x-nothing")
    page.write_text(text.replace("</body>", measure), encoding="utf-8")
    document, said = open_page(page, tmp_path / "profile", width=500)
    assert said == []
    width = re.search(r"<title>(\d+)</title>", document)
    assert width is not None
    assert 300 < int(width.group(1)) <= 500
