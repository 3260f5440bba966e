from __future__ import annotations

import re

import numpy as np
import pytest

from myriad.report.evidence import ClassRecord, Epoch, Trial
from myriad.report.plots import (
    plot_accuracy_at,
    plot_by_training,
    plot_gaps,
    plot_histogram,
    plot_history,
    plot_ranks,
    plot_trials,
)
from myriad.report.plots.axes import (
    make_count_axis,
    make_percent_axis,
    make_step_axis,
    make_value_axis,
)
from myriad.report.plots.classes import find_running_median
from tests.report.markup import Markup


def make_record(name: str, train: int, top1: float | None) -> ClassRecord:
    return ClassRecord(name, train, 10, top1, top1, None, ())


def list_dots(plot: str, kind: str) -> list[tuple[float, float]]:
    dots = Markup(plot).find("circle", **{"class": kind})
    return [(float(dot["cx"] or 0), float(dot["cy"] or 0)) for dot in dots if dot.get("data-tip")]


def check_inside(plot: str) -> None:
    markup = Markup(plot)
    box = markup.find("svg")[0]["viewbox"] or ""
    width, height = (float(side) for side in box.split()[2:])
    for tag, found in markup.elements:
        for name in ("x", "x1", "x2", "cx"):
            assert -0.5 <= float(found.get(name) or 0) <= width + 0.5, (tag, found)
        for name in ("y", "y1", "y2", "cy"):
            assert -0.5 <= float(found.get(name) or 0) <= height + 0.5, (tag, found)
    assert not re.search(r"nan|inf[^o]", plot.lower().replace("data-tip", ""))


def test_accuracy_at_rises_on_the_page() -> None:
    values = [(k, 60 + 30 * (1 - 1 / k)) for k in range(1, 11)]
    plot = plot_accuracy_at(values, 97.3)
    dots = list_dots(plot, "dot series-1")
    assert len(dots) == 10
    assert np.all(np.diff([x for x, _ in dots]) > 0)
    assert np.all(np.diff([y for _, y in dots]) < 0)  # higher is nearer the top
    assert "k = 2: 75.0" in plot
    assert "ceiling" in plot
    check_inside(plot)


@pytest.mark.parametrize("level", [0.0, 50.0, 99.96, 100.0])
def test_flat_curves_have_an_axis(level: float) -> None:
    check_inside(plot_accuracy_at([(1, level), (2, level)], None))
    check_inside(plot_history([Epoch(1, level, None, None), Epoch(2, level, None, None)]))
    check_inside(plot_histogram([level], level))


def test_history_marks_its_best_epoch() -> None:
    tops = [50.0, 70.0, 65.0]
    plot = plot_history([Epoch(i + 1, top, top + 10, 1.5) for i, top in enumerate(tops)])
    assert "best top-1: 70.0\u00a0% at epoch 2" in plot
    ring = Markup(plot).find("circle", **{"class": "ring"})[0]
    assert float(ring["cx"] or 0) == pytest.approx(list_dots(plot, "dot series-1")[1][0])
    assert "epoch 3: top-5 75.0\u00a0%, 1.5\u00a0s" in plot
    check_inside(plot)


def test_histogram_counts_every_class_once() -> None:
    accuracies = [*np.random.default_rng(0).uniform(0, 100, 500).tolist(), 0.0, 100.0, 100.0]
    plot = plot_histogram(accuracies, 50.0)
    tips = [bar["data-tip"] or "" for bar in Markup(plot).find("rect")]
    counts = [int(re.search(r": (\d+) class", tip).group(1)) for tip in tips]  # type: ignore[union-attr]
    expected = [sum(low <= a < low + 10 for a in accuracies) for low in range(0, 100, 10)]
    expected[-1] += 2
    assert counts == expected
    check_inside(plot)


def test_by_training_needs_different_numbers() -> None:
    assert plot_by_training([]) is None
    assert plot_by_training([make_record("a", 40, 50.0), make_record("b", 40, 60.0)]) is None


def test_by_training_gathers_coinciding_classes() -> None:
    records = [make_record(f"c{i}", 10, 50.0) for i in range(7)] + [make_record("d", 20, 90.0)]
    plot = plot_by_training([*records, make_record("e", 30, None)])
    assert plot is not None
    assert len(list_dots(plot, "dot cloud")) == 2
    assert "c0, c1, c2, c3, c4 and 2 more" in plot
    assert "running median" not in plot
    check_inside(plot)


def test_by_training_of_thousands_stays_small() -> None:
    rng = np.random.default_rng(1)
    train = rng.integers(1, 5000, 12_000).tolist()
    records = [make_record(f"c{i}", train[i], float(rng.uniform(0, 100))) for i in range(12_000)]
    plot = plot_by_training(records)
    assert plot is not None
    assert "log scale" in plot
    assert len(plot) < 400_000
    check_inside(plot)


def test_running_median_against_a_plain_one() -> None:
    rng = np.random.default_rng(2)
    points = [(float(x), float(x + rng.normal())) for x in rng.permutation(240)]
    found = find_running_median(points)
    ordered = sorted(points)
    for x, y in found:
        i = next(i for i, point in enumerate(ordered) if point[0] == x)
        window = [point[1] for point in ordered[max(0, i - 20) : i + 21]]
        assert y == pytest.approx(float(np.median(window)))
    assert found[0][0] == 0
    assert found[-1][0] == 239
    assert find_running_median(points[:19]) == []
    assert find_running_median([(1.0, 2.0)] * 50) == []


def test_trials_draw_one_plot_for_each_varied_number() -> None:
    trials = [
        Trial((("eta", eta), ("beta", 8), ("loss", "hinge")), 50 + eta) for eta in (0.01, 0.1, 1.0)
    ]
    plots = plot_trials([*trials, Trial((("eta", 9.0),), None)], trials[1])
    assert len(plots) == 1
    assert "eta (log scale)" in plots[0]
    assert len(list_dots(plots[0], "dot series-2")) == 1
    assert "Chosen: 0.1, with 50.1" in plots[0]
    check_inside(plots[0])
    assert plot_trials([]) == []


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (make_percent_axis([12.0, 88.0]), ["0", "20", "40", "60", "80", "100"]),
        (make_percent_axis([100.0]), ["95", "96", "97", "98", "99", "100"]),
        (make_count_axis(3), ["0", "1", "2", "3"]),
        (make_count_axis(890), ["0", "200", "400", "600", "800", "1,000"]),
        (make_step_axis(1, 4), ["1", "2", "3", "4"]),
        (make_value_axis([5, 4000]), ["10", "30", "100", "300", "1,000", "3,000"]),
        (make_value_axis([0.01, 1.0], most=4), ["0.01", "0.1", "1"]),
        (make_value_axis([-2, 0, 2]), ["-2", "-1", "0", "1", "2"]),
    ],
)
def test_axes_have_round_ticks_within(axis: object, labels: list[str]) -> None:
    assert [label for _, label in axis.ticks] == labels  # type: ignore[attr-defined]
    places = [axis.locate(value) for value, _ in axis.ticks]  # type: ignore[attr-defined]
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)


def test_rank_rises_as_lam_falls() -> None:
    values = [(0.1, 1, 20.0), (0.01, 9, 60.0), (0.001, 30, 55.0)]
    trials = [Trial((("lam", lam), ("rank", rank)), top1) for lam, rank, top1 in values]
    plot = plot_ranks(trials)
    assert plot is not None
    check_inside(plot)
    assert "rank 9, 60.0" in plot
    assert len(list_dots(plot, "dot series-2")) == 1
    assert len(list_dots(plot, "dot series-1")) == 2
    assert plot_ranks(trials[:1]) is None
    assert plot_ranks([Trial((("lam", lam),), top1) for lam, _, top1 in values]) is None
    assert plot_ranks([Trial((("lam", "x"), ("rank", 2)), 5.0)] * 2) is None


def test_gaps_fall_with_time() -> None:
    gaps = [0.3, 0.02, 0.004, 0.00093]
    history = [Epoch(6.0 * n, None, None, 1.5 * n, gap) for n, gap in enumerate(gaps, start=1)]
    plot = plot_gaps(history)
    assert plot is not None
    dots = list_dots(plot, "dot series-1")
    assert len(dots) == 4
    assert np.all(np.diff([y for _, y in dots]) > 0)  # smaller is nearer the foot
    steps = np.diff([y for _, y in dots])
    assert steps.max() < 2.5 * steps.min()  # a logarithmic axis
    assert "0.00093" in plot
    check_inside(plot)
    assert plot_gaps(history[:1]) is None
    assert plot_gaps([Epoch(1, 50.0, 60.0, 1.0)] * 3) is None
    assert plot_gaps([Epoch(1, None, None, None, 0.5)] * 3) is None


def test_only_the_chosen_trial_is_marked_in_any_panel() -> None:
    chosen = Trial((("objective", "softmax"), ("eta", 0.1)), 50.0)
    others = [Trial((("objective", "dual"), ("lam", lam)), 40 + lam) for lam in (1.0, 2.0)]
    plots = plot_trials([chosen, Trial((("eta", 1.0),), 60.0), *others], chosen)
    assert [len(list_dots(plot, "dot series-2")) for plot in plots] == [1, 0]
