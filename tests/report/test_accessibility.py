"""The report is accessible, and shows names of every script in their own direction."""

import re

import pytest

from myriad.report import write_report
from tests.accessibility import find_violations, needs_axe
from tests.report.invention import draw_image, invent_evidence
from tests.serving.browser import open_browser

ARABIC, HEBREW, THAI = "بلشون رمادي", "אנפה אפורה", "นกกระสานวล"


def invent_names():
    """Return evidence whose first classes have names in other scripts."""
    evidence = invent_evidence(20, per_class=20)
    names = {f"class {i:04d}": name for i, name in enumerate((ARABIC, HEBREW, THAI))}

    def rename(found):
        if isinstance(found, dict):
            return {rename(key): rename(value) for key, value in found.items()}
        if isinstance(found, list | tuple):
            return [rename(value) for value in found]
        return names.get(found, found) if isinstance(found, str) else found

    return rename(evidence)


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "report.html"
    write_report(invent_names(), path, read_image=draw_image)
    return path


def test_names_keep_their_direction_and_the_page_its_language(page):
    text = page.read_text(encoding="utf-8")
    assert '<html lang="en">' in text
    named = re.findall(r'<(?:a|h1)[^>]*class="name"[^>]*>', text)
    assert named
    assert all('dir="auto"' in tag for tag in named)
    assert ARABIC in text


@needs_axe
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_axe_finds_nothing_wrong(page, tmp_path):
    with open_browser(tmp_path / "profile") as driver:
        for width, dark in ((1280, False), (390, True)):
            driver.set_window_size(width, 900)
            driver.get(page.as_uri())
            assert find_violations(driver, dark=dark) == []
            shown = driver.execute_script(
                "const head = [...document.querySelectorAll('#class-table th.name')]"
                ".find((one) => one.textContent === arguments[0]);"
                "return head && getComputedStyle(head).direction",
                HEBREW,
            )
            assert shown == "rtl"
