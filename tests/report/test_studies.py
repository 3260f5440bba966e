"""The pages of studies: every line is there, hostile words are text, plots stay in their frames."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from myriad.report.plots import Entry, Series, plot_costs, plot_epochs, plot_ranking, plot_values
from myriad.report.plots.studies import spread
from myriad.report.studies import render_comparison, render_tuning, write_comparison
from tests.report.browser import needs_browser, open_page
from tests.report.markup import Markup
from tests.report.test_plots import check_inside

HOSTILE = "</script><script>alert(1)</script>\n\x1b<b>"


def accuracies(top1: float) -> dict[str, Any]:
    at = {str(k): min(100.0, top1 + k - 1) for k in range(1, 11)}
    means = {"class_top1": top1 - 1, "class_top5": 94.0}
    return {"n": 50, "top1": top1, "top5": 95.0, **means, "accuracy_at": at}


def invent_line(objective: str, top1: float | None, **more: Any) -> dict[str, Any]:
    return {
        "objective": objective,
        "validation": {} if top1 is None else accuracies(top1),
        "test": None if top1 is None else accuracies(top1 - 3),
        "seconds": None if top1 is None else top1 / 10,
        "epochs": 4,
        "settings": {"eta": 0.25, "beta": "all"},
        "history": [{"epoch": e, "top1": 50.0 + e} for e in range(1, 5)] if top1 else [],
        "model": "out/m",
        "error": None,
    } | more


def invent_comparison(*lines: dict[str, Any]) -> dict[str, Any]:
    best = lines[0] if lines[0]["error"] is None else None
    return {"store": "rows.store", "classes": 7, "rows": list(lines), "best": best}


def invent_trial(study: str, top1: float | None, **settings: Any) -> dict[str, Any]:
    return {
        "study": study,
        "settings": settings,
        "top1": top1,
        "top5": top1,
        "epochs": 2,
        "seconds": 1.5,
        "history": [{"epoch": e, "top1": 40.0 + e, "top5": 80.0} for e in range(1, 4)],
        "search": [{"eta": 0.1, "beta": 4.0, "epochs": 1, "top1": 33.0, "top5": 60.0}],
        "error": None if top1 is not None else "It overflowed.",
    }


def invent_tuning() -> dict[str, Any]:
    grid = [
        invent_trial("grid", 60.0 + 5 * i + j, beta=beta, eta=eta, lam=0.0)
        for i, beta in enumerate([1.0, 4.0, "all"])
        for j, eta in enumerate([0.1, 1.0])
    ]
    rest = [
        invent_trial("none", 70.0, beta=4.0, eta=1.0, lam=0.0),
        invent_trial("lam", 71.0, beta=4.0, eta=1.0, lam=1e-4),
        invent_trial("lam", 65.0, beta=4.0, eta=1.0, lam=1e-2),
        invent_trial("lam, step shrinking", None, beta=4.0, eta=1.0, lam=1e-2),
    ]
    return {
        "store": "rows.store",
        "objective": "ovr",
        "classes": 7,
        "rows": [invent_trial("auto", 69.0, beta=4.0, eta=1.0, lam=0.0), *grid, *rest],
        "best": rest[1],
        "command": ["myriad", "train", "my rows", "--out", "MODEL", "--lam", "0.0001"],
    }


def test_comparison_shows_every_line() -> None:
    lines = invent_line("ovr", 88.0), invent_line("means", 61.5), invent_line("warp", None)
    failed = lines[2] | {"error": "The weights overflowed.", "settings": {}}
    page = render_comparison(invent_comparison(*lines[:2], failed))
    text = Markup(page).read()
    for words in ("best on validation: ovr", "88.0\u00a0%", "61.5\u00a0%", "58.5\u00a0%"):
        assert words.replace("\u00a0", " ") in text.replace("\u00a0", " ")
    assert "failed: The weights overflowed." in text
    assert "eta 0.25, beta all" in text
    assert len(Markup(page).find("svg")) == 5


def test_accuracy_at_every_number_of_guesses_is_drawn() -> None:
    lines = invent_line("topk:1", 80.0, test=None), invent_line("topk:5", 70.0, test=None)
    page = render_comparison(invent_comparison(*lines))
    assert "Accuracy at k, validation" in page
    assert "Accuracy at k, test" not in page
    assert "topk:5, 7: 76.0" in page.replace("\u00a0", " ")
    assert "topk:5, 8" not in page  # there are 7 classes
    older = [line | {"validation": {"n": 5, "top1": 50.0}} for line in lines]
    assert "Accuracy at k" not in render_comparison(invent_comparison(*older))


def test_without_test_rows_there_are_no_columns_for_them() -> None:
    page = render_comparison(invent_comparison(invent_line("ovr", 88.0, test=None)))
    assert "test" not in Markup(page).read().replace("latest", "")


@pytest.mark.parametrize(("more", "cells"), [({"test": None}, 7), ({}, 11)])
def test_every_line_has_all_columns(more: dict[str, Any], cells: int) -> None:
    lines = [invent_line(name, 80.0, **more) for name in ("ovr", "warp", "dual")]
    page = render_comparison(invent_comparison(*lines))
    body = page.split("<tbody>")[1].split("</tbody>")[0]
    assert [line.count("<td") for line in body.split("</tr>")[:-1]] == [cells] * 3


def test_hostile_words_stay_text() -> None:
    line = invent_line(HOSTILE, 50.0, settings={HOSTILE: HOSTILE}, error=None)
    failed = invent_line(HOSTILE, None, error=HOSTILE)
    content = invent_comparison(line, failed) | {"store": HOSTILE}
    tuning = invent_tuning() | {"store": HOSTILE, "objective": HOSTILE, "command": [HOSTILE]}
    for page in (render_comparison(content), render_tuning(tuning)):
        markup = Markup(page)
        assert len(markup.find("script")) == 1
        assert "alert(1)" not in " ".join(text for tag, text in markup.texts if tag == "script")
        assert "\x1b" not in page


def test_tuning_shows_the_trials_and_the_command() -> None:
    page = render_tuning(invent_tuning())
    text = Markup(page).read()
    assert "myriad train 'my rows' --out MODEL --lam 0.0001" in text
    assert "failed: It overflowed." in text
    assert len(Markup(page).find("svg")) == 4
    assert "beta all" in page
    chosen = page.partition('class="chosen"')[2].partition("</tr>")[0]
    assert "71.00" in chosen


def test_plots_stay_in_their_frames() -> None:
    names = ["a", "b" * 80, "c", "d", "e", "f", "g"]
    lines = [Series(name, [(1, 50.0), (2, 50.0 + i / 9)]) for i, name in enumerate(names)]
    entries = [Entry(name, 50.0, None, 0.0001 * 10**i) for i, name in enumerate(names)]
    for plot in (
        plot_epochs(lines),
        plot_values("beta", [*lines[:2], Series("flat", [(1, 99.0)], flat=True)]),
        plot_ranking(entries),
        plot_costs(entries),
    ):
        assert plot is not None
        check_inside(plot)


def test_nothing_to_plot() -> None:
    assert plot_epochs([Series("a", [])]) is None
    assert plot_values("beta", [Series("a", [(1, 50.0)])]) is None
    assert plot_ranking([Entry("a", None, None, 1.0)]) is None
    assert plot_costs([Entry("a", 50.0, None, 1.0)]) is None


@pytest.mark.parametrize("places", [[5.0, 5.0, 5.0], [0.0, 90.0, 100.0], [100.0, 99.0, 98.0]])
def test_names_are_moved_apart(places: list[float]) -> None:
    moved = spread(places, 15, 0, 100)
    order = sorted(moved)
    assert all(b - a >= 15 - 1e-9 for a, b in pairwise(order))
    assert min(moved) >= 0
    assert max(moved) <= 100


@needs_browser
def test_pages_open_without_complaint(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write_comparison(invent_comparison(invent_line("ovr", 88.0), invent_line("warp", 70.0)), page)
    _, said = open_page(page, tmp_path / "profile")
    assert said == []
