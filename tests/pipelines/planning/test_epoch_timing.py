"""Timed epochs: what is counted, how large jobs are made small, and what is remembered."""

import json
import math

import pytest

from myriad.objectives import JOINT_OBJECTIVES
from myriad.pipelines.planning import epoch_timing
from myriad.pipelines.planning.epoch_timing import (
    MOST_NUMBERS,
    MOST_READ,
    Epochs,
    draw_rows,
    measure_speed,
    time_epochs,
)
from myriad.pipelines.planning.machine import write_cached
from myriad.training.settings import Setting
from myriad.training.sgd.fitting import make_trainer


@pytest.mark.parametrize(
    ("epochs", "kind", "work"),
    [
        (Epochs("ovr", 100, 10, 9.0), "sampled", 100),
        (Epochs("ovr", 100, 10, 16.0), "dense", 1000),
        (Epochs("ovr", 100, 10, math.inf), "dense", 1000),
        (Epochs("multiclass", 100, 10), "multiclass", 1000),
        (Epochs("ranking", 100, 10), "ranking", 20),
        (Epochs("softmax", 100, 10), "softmax", 1000),
        (Epochs("softmax", 100, 10, negatives=7), "softmax, sampled", 80),
        (Epochs("softmax", 100, 10, negatives=700), "softmax, sampled", 1000),
        (Epochs("softmax", 100, 10, negatives=7, average=True), "softmax, sampled, averaged", 80),
        (Epochs("ovr", 100, 10, 16.0, average=True), "dense, averaged", 1000),
    ],
)
def test_what_is_multiplied(epochs, kind, work):
    assert epochs.kind == kind
    assert epochs.work == work
    assert epochs.shrink() == epochs


@pytest.mark.parametrize(
    "epochs",
    [
        Epochs("ovr", 100, 32, 9.0),
        Epochs("ovr", 100, 32, math.inf),
        *(Epochs(objective, 100, 32) for objective in JOINT_OBJECTIVES),
        Epochs("softmax", 100, 32, negatives=7),
    ],
    ids=lambda epochs: f"{epochs.kind} {epochs.beta}",
)
def test_chunks_are_those_of_the_trainer(epochs):
    rows = draw_rows(epochs)
    trainer = make_trainer(epochs.method(), [Setting(0.1, epochs.beta)], rows, epochs.classes, 1.0)
    trainer._begin_epoch(0)
    layout, stated = trainer._layout, epochs.cost.layout
    assert stated.block == layout.block == trainer.block
    assert stated.grams == layout.grams
    assert stated.count_rows(32) == layout.count_rows(32)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("objective", ["ovr", "multiclass", "softmax"])
def test_averages_are_kept_where_they_are_planned(objective, average):
    epochs = Epochs(objective, 12, 16, 2.0 if objective == "ovr" else None, average=average)
    trainer = make_trainer(epochs.method(), [Setting(0.1, epochs.beta)], draw_rows(epochs), 12, 1.0)
    copies = [array for array in (trainer.V, trainer.Q) if array.size]
    assert epochs.cost.copies == len(copies) == 1 + average


@pytest.mark.parametrize("beta", [8.0, 500.0, 9000.0, math.inf])
def test_large_weights_are_made_small_and_stay_of_their_kind(beta):
    large = Epochs("ovr", 10_184, 131_072, beta)
    small = large.shrink()
    assert small.classes * small.dim <= MOST_NUMBERS
    assert small.kind == large.kind
    assert small.count_rows() * small.dim <= MOST_NUMBERS
    web = Epochs("warp", 96_812, 1024).shrink()
    assert web.dim == 1024
    assert web.beta is None
    assert web.count_rows() >= 2 * web.cost.layout.count_rows(1024)
    drawn = Epochs("softmax", 96_812, 1024, negatives=64).shrink()
    assert MOST_NUMBERS < drawn.classes * drawn.dim <= MOST_READ


def test_features_without_end_leave_some_rows():
    assert Epochs("multiclass", 3, 1 << 30).shrink().count_rows() > 0


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "epochs", [Epochs("ovr", 40, 16, 2.0), Epochs("multiclass", 12, 16)], ids=lambda p: p.kind
)
def test_passes_are_made_and_counted(monkeypatch, epochs, threads):
    clock = iter(range(1000))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))  # a pass takes a second
    assert time_epochs(epochs, threads) == epochs.count_rows() * epochs.work
    rows = draw_rows(epochs)
    assert rows.n_rows == epochs.count_rows()
    assert len(rows.class_names) == epochs.classes


def test_a_pace_is_measured_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []
    monkeypatch.setattr(epoch_timing, "time_epochs", lambda *known: calls.append(known) or 7.0)
    epochs = Epochs("warp", 96_812, 1024)
    assert measure_speed(epochs, 2) == measure_speed(epochs, 2) == 7.0
    assert calls == [(epochs.shrink(), 2)]
    measure_speed(epochs, 1)
    measure_speed(epochs, 2, again=True)
    assert len(calls) == 3
    path = tmp_path / "myriad" / "machine.json"
    path.write_text(path.read_text().replace("7.0", '"many"'))
    assert measure_speed(epochs, 2) == 7.0
    assert len(calls) == 4
    write_cached({"rates": {}})  # all else is forgotten
    assert set(json.loads(path.read_text())["notes"]) == {"rates"}
