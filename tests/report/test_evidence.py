from __future__ import annotations

import copy
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from myriad.errors import InputError
from myriad.report.evidence import clean_text, read_evidence
from myriad.report.page import render_report
from tests.report.invention import draw_image, invent_evidence
from tests.report.markup import Markup

SAMPLE = invent_evidence(6)
SAMPLE["pairs"] = SAMPLE["pairs"][:3]


def list_places(content: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the place of every value in nested lists and dictionaries."""
    if isinstance(content, dict):
        inner = [list_places(value, (*place, key)) for key, value in content.items()]
    elif isinstance(content, list):
        inner = [list_places(value, (*place, i)) for i, value in enumerate(content)]
    else:
        inner = []
    return [place] * bool(place) + [found for places in inner for found in places]


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["\udc80", "</script>", "1e999", "NaN"]),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.floats(), max_size=3),
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(place=st.sampled_from(list_places(SAMPLE)), junk=JUNK)
def test_damage_is_refused_or_shown(place: tuple[Any, ...], junk: Any) -> None:
    evidence = copy.deepcopy(SAMPLE)
    inner: Any = evidence
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = junk
    try:
        known = read_evidence(evidence)
    except InputError:
        return
    page = render_report(known, read_image=lambda path: None)
    page.encode("utf-8")
    Markup(page)


@pytest.mark.parametrize("junk", [math.nan, math.inf, -1, 101, "71", True, 10**400])
def test_numbers_out_of_range_name_their_place(junk: Any) -> None:
    evidence = copy.deepcopy(SAMPLE)
    evidence["classes"][2]["top1"] = junk
    with pytest.raises(InputError, match=r"evidence\.classes\[2\]\.top1 must be"):
        read_evidence(evidence)


def test_paths_reach_the_file_system_unchanged() -> None:
    evidence = copy.deepcopy(SAMPLE)
    evidence["classes"][0]["sample"] = "a\nb\udcff.jpg"
    assert read_evidence(evidence).classes[0].sample == "a\nb\udcff.jpg"


def test_text_is_fit_to_be_shown() -> None:
    assert clean_text("a\nb\x7f\x85\udc80") == "a↵b\ufffd\ufffd\ufffd"
    assert clean_text("é漢🦜 <b>") == "é漢🦜 <b>"
    assert clean_text("y" * 1000) == "y" * 299 + "…"
    assert clean_text(12) == "12"


def test_settings_are_flattened() -> None:
    known = read_evidence(
        {
            "measures": {},
            "settings": {
                "a": {"b": True, "c": None},
                "d": 0.1,
                "e": list(range(30)),
                "f": {},
                "g": [{"name": "x", "error": 0.25}, {"name": "y", "error": None}],
            },
        }
    )
    shown = dict(known.settings)
    assert shown["a.b"] == "yes"
    assert shown["a.c"] == "none"
    assert shown["d"] == "0.1"
    assert shown["e"].endswith("19, … (30 in all)")
    assert shown["g"] == "name x, error 0.25; name y, error none"


def test_the_chosen_trial_has_the_settings_of_the_model() -> None:
    content = invent_evidence(5)
    content["settings"] = {"objective": "softmax", "eta": 0.5, "epochs": 4}
    content["search"] = [
        {"objective": "softmax", "eta": 0.5, "epochs": 2, "top1": 90.0},
        {"objective": "softmax", "eta": 0.5, "epochs": 4, "top1": 80.0},
        {"objective": "dual", "lam": 0.5, "top1": 95.0},
    ]
    evidence = read_evidence(content)
    assert evidence.chosen is evidence.search[1]
    page = render_report(evidence, read_image=draw_image)
    table = page.partition("Table of settings tried")[2].partition("</table>")[0]
    assert table.count('class="chosen"') == 1
    assert "80.00" in table.partition('class="chosen"')[2].partition("</tr>")[0]
    assert read_evidence(content | {"search": []}).chosen is None
