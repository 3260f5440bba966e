"""The method behind `Wsabie`: resumed runs, rows without labels, classes without rows."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.progress import Progress
from myriad.store import ArrayRows
from myriad.training import (
    METHODS,
    Checkpoint,
    Context,
    EmbeddingOptions,
    WsabieMethod,
    make_method,
)
from myriad.training.embedding.method import member_seed
from myriad.training.embedding.search import grid


class Broken(Exception):
    pass


class Breaking(Progress):
    """Progress that breaks the work off when a number of rows has been trained on."""

    def __init__(self, after):
        self.left = after

    def step(self, title, total=None, unit=""):
        from contextlib import contextmanager

        @contextmanager
        def count():
            yield self.advance if title.startswith("Epoch ") else lambda n: None

        return count()

    def advance(self, n):
        self.left -= n
        if self.left < 0:
            raise Broken


def make_rows(n=400, n_classes=10, seed=0):
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(7).standard_normal((n_classes, 16))
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    X = means[labels] + 0.7 * rng.standard_normal((n, 16))
    return ArrayRows(X.astype(np.float32), labels, [str(c) for c in range(n_classes)])


@pytest.mark.parametrize(("after", "several"), [(1, "ensemble"), (5, "ensemble"), (9, "runs")])
def test_an_interrupted_run_resumes_to_the_same_model(tmp_path, after, several):
    train, val = make_rows(), make_rows(100, seed=1)
    method = WsabieMethod(dim=6, epochs=5, patience=5, **{several: 2})
    whole = method.fit(train, val, n_classes=10, context=Context(threads=1))

    def keep():
        return Checkpoint(tmp_path / "state", {"a": 1}, every=0.0)

    with pytest.raises(Broken):
        method.fit(
            train,
            val,
            n_classes=10,
            context=Context(
                threads=1, checkpoint=keep(), progress=Breaking(after * train.n_rows - 1)
            ),
        )
    resumed = method.fit(train, val, n_classes=10, context=Context(threads=1, checkpoint=keep()))
    assert resumed.model.prototypes.tobytes() == whole.model.prototypes.tobytes()
    assert resumed.model.map.tobytes() == whole.model.map.tobytes()
    assert resumed.epochs == whole.epochs
    assert [row["top1"] for row in resumed.history] == [row["top1"] for row in whole.history]


def test_rows_without_labels_or_with_all_are_skipped_with_a_note():
    rows = make_rows()
    lists = [[label] for label in rows.labels]
    lists[3], lists[5] = [], list(range(10))
    notes = []

    class Recording(Progress):
        def note(self, sentence):
            notes.append(sentence)

    several = ArrayRows(rows.X, LabelSets.from_lists(lists), rows.class_names)
    method = WsabieMethod(dim=4, eta=0.1, margin=0.03, epochs=2)
    fitted = method.fit(
        several, None, n_classes=10, context=Context(threads=1, progress=Recording())
    )
    assert np.isfinite(fitted.model.prototypes).all()
    assert any(": 2." in note for note in notes)


def test_classes_without_rows_stay_in_the_middle():
    rows = make_rows(n_classes=10)
    method = WsabieMethod(dim=4, eta=0.1, margin=0.03, epochs=3)
    fitted = method.fit(rows, None, n_classes=12, context=Context(threads=1))
    assert fitted.model.n_classes == 12
    ranks, _ = fitted.model.rank_true_labels(rows.X, rows.labels)
    assert (ranks == 1).mean() > 0.5


def test_stated_numbers_are_not_searched():
    assert grid(WsabieMethod(eta=0.5, margin=0.1), 16) == [(0.5, 0.1)]
    assert len(grid(WsabieMethod(margin=0.1), 16)) == 3
    assert len(grid(make_method(METHODS, "wsabie", adagrad="no"), 16)) == 12


def test_settled_repeats_what_was_found():
    train, val = make_rows(), make_rows(100, seed=1)
    method = WsabieMethod(epochs=4)
    fitted = method.fit(train, val, n_classes=10, context=Context(threads=1))
    settled = method.settled(fitted)
    assert not settled.is_open
    again = settled.fit(train, None, n_classes=10, context=Context(threads=1))
    assert again.epochs == fitted.epochs
    assert again.model.prototypes.tobytes() == fitted.model.prototypes.tobytes()


def test_forgetting_last_violators_lets_no_class_starve():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(100), 8).astype(np.int32)
    X = rng.standard_normal((100, 16))[labels] + 0.4 * rng.standard_normal((800, 16))
    rows = ArrayRows(X.astype(np.float32), labels, [str(c) for c in range(100)])

    def count_starved(**options):
        form = EmbeddingOptions(**options)
        method = WsabieMethod(dim=8, eta=0.03, margin=0.1, epochs=20, options=form)
        model = method.fit(rows, None, n_classes=100, context=Context(threads=1)).model
        right = model.rank_true_labels(rows.X, rows.labels)[0] == 1
        return int(np.count_nonzero(np.bincount(labels, right, minlength=100) == 0))

    assert count_starved(last_violators=8, forget=False) >= 10
    assert count_starved(last_violators=8) <= 2
    assert count_starved() <= 2


def test_the_best_of_several_runs_is_kept():
    train, val = make_rows(), make_rows(100, seed=1)
    context, options = Context(threads=1), {"dim": 2, "eta": 0.1, "margin": 0.03, "epochs": 3}
    method = WsabieMethod(**options, runs=3)
    found = method.fit(train, val, n_classes=10, context=context)
    alone = [
        WsabieMethod(**options, seed=member_seed(0, run)).fit(
            train, val, n_classes=10, context=context
        )
        for run in range(3)
    ]
    means = [np.mean([row["top1"] for row in one.history[: one.epochs]]) for one in alone]
    assert len(set(means)) > 1
    assert found.settings["runs"] == 3
    best = found.settings["run"]
    assert means[best] == max(means)
    np.testing.assert_array_equal(found.model.prototypes, alone[best].model.prototypes)
    assert found.history[-1]["top1"] == alone[best].history[-1]["top1"]
    settled = method.settled(found)
    assert not settled.is_open
    assert settled.seed == member_seed(0, best)
    # Without rows to compare them on there is one run.
    plain = method.fit(train, None, n_classes=10, context=context)
    assert "run" not in plain.settings


def test_runs_do_not_go_with_an_ensemble():
    with pytest.raises(InputError, match="only one can be above 1"):
        WsabieMethod(runs=2, ensemble=2)
