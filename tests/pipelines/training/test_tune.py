"""Settings tuned: the search, a grid, three kinds of regularisation, resumed if interrupted."""

import pytest

from myriad.errors import InputError
from myriad.pipelines.run import Run
from myriad.pipelines.training import tune as module
from myriad.pipelines.training.tune import tune
from tests.pipelines.studying import make_store

FEW = {"betas": ["1", "all"], "etas": ["0.01", "0.1"], "lams": ["0.001"], "epochs": 3}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("rows") / "store")


@pytest.fixture(scope="module")
def tuned(store, tmp_path_factory):
    return tune(store.path, tmp_path_factory.mktemp("tuned") / "out", run=Run(threads=1), **FEW)


def test_every_study_is_made(tuned):
    studies = [trial.study for trial in tuned.trials]
    assert studies == ["auto", *["grid"] * 4, "none", "lam", "lam, step shrinking"]
    crossed = [(trial.settings["beta"], trial.settings["eta"]) for trial in tuned.trials[1:5]]
    assert crossed == [(1.0, 0.01), (1.0, 0.1), ("all", 0.01), ("all", 0.1)]
    assert len(tuned.trials[0].search) > 4
    for trial in tuned.trials:
        assert trial.error is None
        tops = [epoch["top1"] for epoch in trial.history]
        assert trial.top1 == pytest.approx(max(tops))
        assert tops[trial.epochs - 1] == max(tops)
    to_the_end = [len(trial.history) for trial in tuned.trials[5:]]
    assert to_the_end == [3, 3, 3]
    settings = [trial.settings for trial in tuned.trials[5:]]
    assert [(s["lam"], s["schedule"]) for s in settings] == [
        (0.0, "fixed"),
        (0.001, "fixed"),
        (0.001, "lam"),
    ]
    before = max(tuned.trials[:5], key=lambda trial: trial.score)
    assert {s["eta"] for s in settings} == {before.settings["eta"]}


def test_the_best_is_a_command(tuned):
    best = tuned.best
    assert best.score == max(trial.score for trial in tuned.trials)
    words = tuned.command
    assert words[:5] == ["myriad", "train", str(tuned.store.path), "--out", "MODEL"]
    assert words[words.index("--eta") + 1] == f"{best.settings['eta']:g}"
    assert words[-2:] == ["--epochs", str(best.epochs)]


def test_a_joint_objective_has_no_beta(store, tmp_path):
    found = tune(store.path, tmp_path / "out", objective="softmax", epochs=2, run=Run(threads=1))
    grid = [trial.settings for trial in found.trials if trial.study == "grid"]
    assert len({settings["eta"] for settings in grid}) == len(grid) > 2
    assert all("beta" not in settings for settings in grid)
    assert "--beta" not in found.command


def test_a_step_too_large_is_a_line_with_its_reason(store, tmp_path):
    few = {"betas": ["all"], "etas": ["0.1", "10"], "lams": ["0.5"], "epochs": 2}
    found = tune(store.path, tmp_path / "out", run=Run(threads=1), **few)
    assert [trial.error for trial in found.trials if trial.study == "grid"] == [None, None]
    few["lams"] = ["1e9"]
    found = tune(store.path, tmp_path / "again", run=Run(threads=1), **few)
    failed = [trial for trial in found.trials if trial.error is not None]
    assert {trial.study for trial in failed} == {"lam", "lam, step shrinking"}
    assert "eta * lam" in failed[0].error


def test_what_is_finished_is_not_trained_again(store, tuned, tmp_path, monkeypatch):
    plain, made = module._Study._measure, []

    def interrupt(study, *arguments):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(arguments)
        return plain(study, *arguments)

    monkeypatch.setattr(module._Study, "_measure", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tune(store.path, tmp_path / "out", run=Run(threads=1), **FEW)
    made.clear()
    monkeypatch.setattr(
        module._Study, "_measure", lambda study, *rest: made.append(rest) or plain(study, *rest)
    )
    again = tune(store.path, tmp_path / "out", run=Run(threads=1, resume=True), **FEW)
    assert len(made) == len(again.trials) - 3
    assert [{**vars(trial), "seconds": 0} for trial in again.trials] == [
        {**vars(trial), "seconds": 0} for trial in tuned.trials
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "best"}, "--objective"),
        ({"objective": "means"}, "no settings to tune"),
        ({"objective": "softmax", "betas": ["1"]}, "--betas does not belong"),
        ({"betas": ["auto"]}, "values to try"),
        ({"betas": ["-1"]}, "--betas must be a number above 0"),
        ({"etas": ["quick"]}, "--etas must be a number"),
        ({"etas": []}, "--etas has no value"),
        ({"lams": ["-1"]}, "--lams must be a number of at least 0"),
        ({"epochs": 0}, "--epochs"),
    ],
)
def test_wrong_values_are_named_before_any_work(store, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        tune(store.path, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_validation_rows_are_needed(tmp_path):
    rows = make_store(tmp_path / "store", splits=("train", "test"))
    with pytest.raises(InputError, match="no validation rows"):
        tune(rows.path, tmp_path / "out")
