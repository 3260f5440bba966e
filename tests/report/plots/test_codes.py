"""Plots of codes."""

from __future__ import annotations

import numpy as np
import pytest

from myriad.report.plots import plot_information, plot_ratios, plot_shares, plot_times
from myriad.report.plots.codes import compute_shares
from tests.report.markup import Markup
from tests.report.test_plots import check_inside


def test_bars_count_all_features():
    information = np.random.default_rng(0).exponential(0.05, 1000)
    plot = plot_information(information, kept=250)
    check_inside(plot)
    bars = Markup(plot).find("rect")
    counts = [
        int((bar["data-tip"] or "").split(": ")[1].split()[0].replace(",", "")) for bar in bars
    ]
    assert sum(counts) == 1000
    assert counts == np.histogram(information, bins=20, range=(0, information.max()))[0].tolist()
    assert "the best 250 of 1,000 are kept" in Markup(plot).read()


@pytest.mark.parametrize("information", [[0.0, 0.0], [0.3]])
def test_little_information_is_drawn_too(information):
    check_inside(plot_information(information))
    check_inside(plot_shares(information))


def test_shares_add_up():
    information = np.array([4.0, 3.0, 2.0, 1.0] + [0.0] * 16)
    np.testing.assert_allclose(
        compute_shares(information), [(5, 40), (10, 70), (25, 100), (50, 100), (75, 100)]
    )
    plot = plot_shares(information[::-1])
    check_inside(plot)
    assert "10 % of the features carry 70.0 %" in plot.replace("\u00a0", " ")


def test_a_line_for_each_code():
    rows = [{"codes": "none", "ratio": 1.0, "top1": 88.0}]
    rows += [
        {"codes": name, "ratio": ratio, "top1": top1}
        for name, top1 in (("pq", 87.0), ("bits", 85.0), ("<b>", 80.0))
        for ratio in (32.0, 64.0)
    ]
    rows.append({"codes": "pq", "ratio": 128.0, "top1": None})
    plot = plot_ratios(rows)
    check_inside(plot)
    markup = Markup(plot)
    assert len(markup.find("polyline")) == 3
    assert len([dot for dot in markup.find("circle") if dot.get("data-tip")]) == 6
    assert "<b>" not in plot
    assert "plain rows: 88.0" in plot


@pytest.mark.parametrize("work", ["coding", "training", "predicting"])
@pytest.mark.parametrize("seconds", [0.0, 3.0])
def test_times_are_drawn_against_the_ratio(work, seconds):
    key = f"seconds_{work}"
    rows = [{"codes": "none", "ratio": 1.0, key: seconds}]
    plain = plot_times(rows, work)
    check_inside(plain)
    rows += [{"codes": "pq", "ratio": ratio, key: seconds + ratio} for ratio in (32.0, 64.0)]
    plot = plot_times(rows, work)
    check_inside(plot)
    assert len(Markup(plot).find("polyline")) == 1
    assert f"Time of {work}" in plot
    assert ("plain rows" in plot) == (work != "coding")
