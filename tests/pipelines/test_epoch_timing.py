"""Rehearsals: what is counted, how large jobs are made small, and what is remembered."""

import json
import math

import pytest

from myriad.pipelines import epoch_timing as rehearsal
from myriad.pipelines.epoch_timing import (
    MOST_NUMBERS,
    Passes,
    draw_rows,
    measure_speed,
    time_epochs,
)
from myriad.pipelines.machine import remember


@pytest.mark.parametrize(
    ("passes", "kind", "work"),
    [
        (Passes("ovr", 100, 10, 9.0), "sampled", 100),
        (Passes("ovr", 100, 10, 16.0), "dense", 1000),
        (Passes("ovr", 100, 10, math.inf), "dense", 1000),
        (Passes("multiclass", 100, 10), "multiclass", 1000),
        (Passes("ranking", 100, 10), "ranking", 20),
    ],
)
def test_what_is_multiplied(passes, kind, work):
    assert passes.kind == kind
    assert passes.work == work
    assert passes.shrink() == passes


@pytest.mark.parametrize("beta", [8.0, 500.0, 9000.0, math.inf])
def test_large_weights_are_made_small_and_stay_of_their_kind(beta):
    large = Passes("ovr", 10_184, 131_072, beta)
    small = large.shrink()
    assert small.classes * small.dim <= MOST_NUMBERS
    assert small.kind == large.kind
    assert small.count_rows() * small.dim <= MOST_NUMBERS
    web = Passes("warp", 96_812, 1024).shrink()
    assert web.dim == 1024
    assert web.beta is None
    assert web.count_rows() >= 2 * web.wanted.count_rows(1024)


def test_features_without_end_leave_some_rows():
    assert Passes("multiclass", 3, 1 << 30).shrink().count_rows() > 0


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "passes", [Passes("ovr", 40, 16, 2.0), Passes("multiclass", 12, 16)], ids=lambda p: p.kind
)
def test_passes_are_made_and_counted(monkeypatch, passes, threads):
    clock = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))  # a pass takes a second
    assert time_epochs(passes, threads) == passes.count_rows() * passes.work
    rows = draw_rows(passes)
    assert rows.n_rows == passes.count_rows()
    assert len(rows.class_names) == passes.classes


def test_a_pace_is_measured_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []
    monkeypatch.setattr(rehearsal, "rehearse", lambda *known: calls.append(known) or 7.0)
    passes = Passes("warp", 96_812, 1024)
    assert measure_speed(passes, 2) == measure_speed(passes, 2) == 7.0
    assert calls == [(passes.shrink(), 2)]
    measure_speed(passes, 1)
    measure_speed(passes, 2, again=True)
    assert len(calls) == 3
    path = tmp_path / "myriad" / "machine.json"
    path.write_text(path.read_text().replace("7.0", '"many"'))
    assert measure_speed(passes, 2) == 7.0
    assert len(calls) == 4
    remember({"rates": {}})  # all else is forgotten
    assert set(json.loads(path.read_text())["notes"]) == {"rates"}
