"""Tests of the automatic method: what it chooses, and on which rows."""

import json

import numpy as np
import pytest

from myriad.measures import LabelSets
from myriad.store import ArrayRows
from myriad.training import METHODS, Automatic, Checkpoint, Context
from myriad.training.automatic import many_classes, selection, subsampling
from myriad.training.automatic import method as automatic
from myriad.training.automatic.families import FAMILIES


def make_rows(n=120, dim=10, classes=4, seed=0, counts=None):
    draws = np.random.default_rng(seed)
    y = np.arange(n) % classes if counts is None else np.repeat(np.arange(classes), counts)
    X = draws.standard_normal((len(y), dim)) + 3 * np.eye(classes, dim)[y] + 5
    return ArrayRows(X.astype(np.float32), y.astype(np.int32))


def accuracy(model, rows):
    guesses = model.scores(rows.read(np.arange(rows.n_rows))).argmax(axis=1)
    return (guesses == rows.labels).mean()


def fit(rows, **options):
    return Automatic(**options).fit(rows, None, n_classes=len(rows.class_names))


def test_it_is_registered():
    assert METHODS["auto"] is Automatic


def test_the_model_is_good_and_its_settings_say_how_it_was_chosen():
    fitted = fit(make_rows())
    assert accuracy(fitted.model, make_rows(seed=1)) > 0.85
    found = fitted.settings["cross_validation"]
    assert found["measure"] == "accuracy"
    assert (found["rows"], found["folds"]) == (120, 3)
    assert found["candidates"] == len(fitted.table)
    assert {row["objective"] for row in fitted.table} == {"softmax", "dual"}
    assert {"plda" in row for row in fitted.table} == {True, False}
    assert fitted.settings["runner_up"]
    json.dumps(fitted.settings)


def test_the_model_is_the_same_on_two_threads():
    first, second = (
        Automatic().fit(make_rows(), None, n_classes=4, context=Context(threads=n)).model
        for n in (1, 2)
    )
    assert (first.weights == second.weights).all()
    assert (first.biases == second.biases).all()


def test_settled_trains_what_was_chosen_without_a_search():
    rows = make_rows()
    fitted = fit(rows)
    settled = Automatic().settled(fitted)
    assert not settled.is_open
    again = settled.fit(rows, None, n_classes=4)
    assert (again.model.weights == fitted.model.weights).all()


def test_classes_of_different_sizes_are_balanced():
    rows = make_rows(classes=3, counts=[200, 40, 10])
    fitted = fit(rows)
    assert fitted.settings["cross_validation"]["measure"] == "mean class accuracy"
    # Discriminant analysis counts all classes alike by itself.
    assert all(row.get("balanced") for row in fitted.table if row["objective"] != "plda")


def test_classes_of_different_sizes_count_by_their_rows_on_request():
    rows = make_rows(classes=3, counts=[200, 40, 10])
    fitted = fit(rows, measure="samples")
    assert fitted.settings["cross_validation"]["measure"] == "accuracy"
    assert not any(row.get("balanced") for row in fitted.table)
    assert "prior_weight" not in fitted.settings


def test_classes_of_equal_sizes_count_alike_on_request():
    fitted = fit(make_rows(), measure="classes")
    assert fitted.settings["cross_validation"]["measure"] == "mean class accuracy"


def test_more_features_than_rows_are_trained_in_their_span():
    rows = make_rows(n=40, dim=200)
    fitted = fit(rows)
    assert fitted.model.weights.shape == (4, 200)
    assert accuracy(fitted.model, make_rows(n=400, dim=200, seed=1)) > 0.6


def test_nothing_can_be_held_out():
    notes = []

    class Notes(type(Context().progress)):
        def note(self, sentence):
            notes.append(sentence)

    rows = make_rows(n=4)
    context = Context(threads=1, progress=Notes())
    fitted = Automatic().fit(rows, None, n_classes=4, context=context)
    assert "cross-validation" in notes[0]
    assert accuracy(fitted.model, rows) == 1.0


def test_duplicate_rows_with_different_labels_and_constant_features():
    rows = make_rows()
    X = rows.X.copy()
    X[:40] = X[0]
    X[:, 3] = 7.0
    fitted = fit(ArrayRows(X, rows.labels))
    assert np.isfinite(fitted.model.weights).all()


def test_two_classes():
    fitted = fit(make_rows(n=60, classes=2))
    assert accuracy(fitted.model, make_rows(n=60, classes=2, seed=1)) > 0.85


def test_weights_of_rows_leave_out_what_cannot_use_them():
    rows = make_rows()
    weighted = ArrayRows(rows.X, rows.labels, weights=np.ones(120))
    assert {row["objective"] for row in fit(weighted).table} == {"softmax"}


@pytest.mark.parametrize("search", ["quick", "thorough"])
def test_how_much_is_tried(search):
    fitted = fit(make_rows(n=60), search=search)
    tried = {row["objective"] for row in fitted.table}
    names = selection.PLANS[search].families
    assert tried == {FAMILIES[name].objective for name in names}


def test_many_rows_are_searched_on_a_subsample(monkeypatch):
    monkeypatch.setattr(subsampling, "FEW_ROWS", 100)
    monkeypatch.setattr(subsampling, "SEARCHED_ROWS", 90)
    monkeypatch.setattr(subsampling, "SEARCHED_SHARE", 1.0)
    rows, val = make_rows(n=400), make_rows(n=100, seed=2)
    method = Automatic(search="quick")
    assert method.needs_held_out(rows, 4)
    fitted = method.fit(rows, val, n_classes=4)
    assert fitted.settings["cross_validation"]["rows"] == 30
    assert fitted.history, "validation rows stop the training"
    assert fitted.choice.settings["epochs"] == fitted.epochs


@pytest.mark.parametrize(("work", "objective"), [(np.inf, "softmax"), (0.0, "ovr")])
def test_candidates_of_very_many_classes_are_compared_on_validation_rows(
    work, objective, monkeypatch
):
    monkeypatch.setattr(automatic, "MANY_CLASSES", 3)
    monkeypatch.setattr(many_classes, "SOFTMAX_WORK", work)
    rows, val = make_rows(), make_rows(seed=2)
    fitted = Automatic().fit(rows, val, n_classes=4)
    assert {row["objective"] for row in fitted.table} == {"plda", objective}
    assert fitted.settings["objective"] in ("plda", objective)
    settled = Automatic().settled(fitted)
    again = settled.fit(rows, None, n_classes=4)
    assert accuracy(again.model, val) > 0.85
    assert again.settings["lam"] == fitted.settings["lam"]


def test_several_labels_are_trained_against_sampled_negatives():
    rows, val = make_rows(), make_rows(seed=2)
    sets = LabelSets.from_lists([[int(c)] for c in rows.labels])
    several = ArrayRows(rows.X, sets, rows.class_names)
    assert Automatic().fit(several, val, n_classes=4).settings["objective"] == "ovr"


def test_many_features_of_very_many_classes_have_no_covariances(monkeypatch):
    monkeypatch.setattr(automatic, "MANY_CLASSES", 3)
    monkeypatch.setattr(many_classes, "MANY_FEATURES", 5)
    fitted = Automatic().fit(make_rows(), make_rows(seed=2), n_classes=4)
    assert fitted.settings["objective"] == "ovr"


def test_the_space_of_discriminant_analysis_is_chosen_where_classes_are_many_and_small():
    """Many classes of few rows, which differ in directions of little noise."""
    rng = np.random.default_rng(0)
    means = rng.standard_normal((80, 30)) * (np.arange(30) < 15)
    y = np.repeat(np.arange(80), 6)
    draws = rng.standard_normal((2, len(y), 30)) * np.linspace(0.3, 6.0, 30)
    train, test = (ArrayRows((means[y] + one).astype(np.float32), y) for one in draws)
    fitted = fit(train)
    assert fitted.choice.family in ("plda", "projected")
    without = fit(train, search="quick")
    assert accuracy(fitted.model, test) > accuracy(without.model, test) + 0.05


def test_an_interrupted_training_does_not_search_again(tmp_path, monkeypatch):
    rows = make_rows()
    context = Context(threads=1, checkpoint=Checkpoint(tmp_path / "first.safetensors", {}))
    first = Automatic().fit(rows, None, n_classes=4, context=context)
    monkeypatch.setattr(selection, "choose", None)
    again = Automatic().fit(rows, None, n_classes=4, context=context)
    assert (again.model.weights == first.model.weights).all()
    assert again.table == first.table


def test_a_subsample_has_the_same_share_of_every_class(monkeypatch):
    monkeypatch.setattr(subsampling, "SEARCH_FLOPS", 0.0)
    monkeypatch.setattr(subsampling, "LEAST_ROWS", 60)
    rows = make_rows(classes=3, counts=[300, 200, 100])
    drawn = subsampling.subsample(rows, 3, seed=0)
    assert np.bincount(rows.labels[drawn]).tolist() == [30, 20, 10]
    assert len(np.unique(drawn)) == 60


def make_uneven_rows(seed=0):
    """Return rows of features in several units, and one with a single huge value."""
    rows = make_rows(seed=seed)
    X = rows.read(np.arange(rows.n_rows)) * 10.0 ** np.linspace(-2, 2, rows.dim)
    X[seed, 3] = 1e6
    return ArrayRows(X.astype(np.float32), rows.labels)


def test_features_of_several_units_are_scaled():
    fitted = fit(make_uneven_rows())
    assert accuracy(fitted.model, make_uneven_rows(seed=1)) > 0.75
    assert fitted.choice.scaled
    assert fitted.settings["scaled"] is True
    again = Automatic().settled(fitted).fit(make_uneven_rows(), None, n_classes=4)
    np.testing.assert_array_equal(again.model.weights, fitted.model.weights)
    assert again.choice.scaled


def test_uneven_features_stay_as_they_are_where_scaling_does_not_help():
    rows = make_rows()
    noise = 0.01 * np.random.default_rng(5).standard_normal((rows.n_rows, 12), np.float32)
    X = np.concatenate([rows.read(np.arange(rows.n_rows)), noise], axis=1)
    fitted = fit(ArrayRows(X, rows.labels))
    assert not fitted.choice.scaled
    assert "scaled" not in fitted.settings


def test_scaling_is_resumed_to_the_same_model(tmp_path):
    rows, path = make_uneven_rows(), tmp_path / "state"
    whole = fit(rows)
    for _ in range(2):
        context = Context(checkpoint=Checkpoint(path, {}, every=0.0))
        found = Automatic().fit(rows, None, n_classes=4, context=context)
        np.testing.assert_array_equal(found.model.weights, whole.model.weights)
