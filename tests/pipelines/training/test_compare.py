"""Objectives compared: one line each, resumed after an interruption, failures among them."""

import json
from dataclasses import dataclass

import pytest

from myriad.errors import InputError, WorkError
from myriad.models import load_model
from myriad.pipelines.run import Run
from myriad.pipelines.training import compare as module
from myriad.pipelines.training.compare import LEDGER, compare
from myriad.training import METHODS, Means
from tests.pipelines.studying import make_store

FEW = ("means", "softmax", "ovr")


@dataclass(frozen=True, kw_only=True)
class Failing(Means):
    objective: str = "failing"

    def fit(self, *rows, **options):
        raise WorkError("The weights overflowed in epoch 1 with eta=9.")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("rows") / "store")


def test_lines_are_ranked_by_validation_and_measured_on_test(store, tmp_path):
    found = compare(store.path, tmp_path / "out", objectives=FEW, epochs=4, run=Run(threads=1))
    assert {candidate.objective for candidate in found.candidates} == set(FEW)
    scores = [candidate.validation["top1"] for candidate in found.candidates]
    assert scores == sorted(scores, reverse=True)
    assert found.best is found.candidates[0]
    for candidate in found.candidates:
        assert candidate.validation["n"] == candidate.test["n"] == 48
        assert candidate.test["class_top5"] is not None
        assert candidate.seconds > 0
        model = load_model(tmp_path / "out" / candidate.objective).model
        assert model.n_classes == 6
    by_name = {candidate.objective: candidate for candidate in found.candidates}
    assert by_name["means"].epochs == 1
    assert 1 <= by_name["ovr"].epochs <= 4
    assert {"eta", "beta"} <= by_name["ovr"].settings.keys()
    assert len(by_name["softmax"].history) <= 4


def test_top_k_machines_of_several_k_are_lines_of_their_own(store, tmp_path):
    names, out = ["topk", "topk:2", "topk:+5", "topk:5"], tmp_path / "out"
    found = compare(store.path, out, objectives=names, epochs=4, run=Run(threads=1))
    by_name = {candidate.objective: candidate for candidate in found.candidates}
    assert by_name.keys() == {"topk", "topk:2", "topk:5"}
    assert [by_name[name].settings["k"] for name in ("topk", "topk:2", "topk:5")] == [1, 2, 5]
    assert load_model(out / "topk-5").model.n_classes == 6
    for candidate in found.candidates:
        at = candidate.validation["accuracy_at"]
        assert at["1"] == candidate.validation["top1"]
        assert at["5"] == candidate.validation["top5"] <= at["6"] == 100.0
    again = compare(store.path, out, objectives=names, epochs=4, run=Run(threads=1, resume=True))
    assert again.candidates == found.candidates
    for wrong, message in (("ovr:2", "ovr has no k"), ("topk:x", "whole number"), ("topk:0", "k")):
        with pytest.raises(InputError, match=message):
            compare(store.path, tmp_path / "new", objectives=[wrong])


def test_every_objective_on_offer_can_be_compared(store, tmp_path):
    found = compare(store.path, tmp_path / "out", epochs=2, run=Run(threads=1))
    assert {candidate.objective for candidate in found.candidates} == set(METHODS)
    assert [candidate.error for candidate in found.candidates] == [None] * len(METHODS)


def test_what_is_finished_is_not_trained_again(store, tmp_path, monkeypatch):
    whole = compare(store.path, tmp_path / "whole", objectives=FEW, epochs=3, run=Run(threads=1))
    plain, trained = module.train, []

    def interrupt(*arguments, method, **options):
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(method.objective)
        return plain(*arguments, method=method, **options)

    monkeypatch.setattr(module, "train", interrupt)
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        compare(store.path, out, objectives=FEW, epochs=3, run=Run(threads=1))
    assert trained == ["means", "softmax"]
    trained.clear()
    again = compare(store.path, out, objectives=FEW, epochs=3, run=Run(threads=1, resume=True))
    assert trained == ["ovr"]
    for one, other in zip(whole.candidates, again.candidates, strict=True):
        assert vars(one) | {"seconds": 0, "model": 0} == vars(other) | {"seconds": 0, "model": 0}


def test_a_failure_is_a_line_with_its_reason(store, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, "failing", Failing)
    out = tmp_path / "out"
    found = compare(store.path, out, objectives=["failing", "means"], run=Run(threads=1))
    assert [candidate.objective for candidate in found.candidates] == ["means", "failing"]
    assert "overflowed" in found.candidates[1].error
    assert list(json.loads((out / LEDGER).read_text())["finished"]) == [f"means {Means()!r}"]
    with pytest.raises(WorkError, match=r"No objective could be trained\. The weights overflowed"):
        compare(store.path, tmp_path / "other", objectives=["failing"], run=Run(threads=1))


def test_without_validation_or_test_rows_nothing_is_best(tmp_path):
    rows = make_store(tmp_path / "store", splits=("train",))
    found = compare(rows.path, tmp_path / "out", objectives=["means"], run=Run(threads=1))
    assert found.best is None
    assert found.candidates[0].test is None
    assert found.candidates[0].validation["top1"] is None


def test_other_rows_or_damage_are_refused(store, tmp_path):
    out = tmp_path / "out"
    options = {"objectives": ["means"]}
    compare(store.path, out, **options)
    with pytest.raises(InputError, match="exists"):
        compare(store.path, out, **options)
    other = make_store(tmp_path / "other", seed=1)
    with pytest.raises(InputError, match="other rows"):
        compare(other.path, out, run=Run(resume=True), **options)
    assert compare(other.path, out, run=Run(overwrite=True), **options).best is not None
    content = json.loads((out / LEDGER).read_text())
    for field, value in (("validation", 3), ("seconds", "long"), ("settings", {"eta": [1]})):
        (part,) = content["finished"].values()
        changed = {**content, "finished": {f"means {Means()!r}": {**part, field: value}}}
        (out / LEDGER).write_text(json.dumps(changed))
        with pytest.raises(InputError, match="damaged"):
            compare(other.path, out, run=Run(resume=True), **options)
    with pytest.raises(InputError, match="--objectives must be some of auto, ovr"):
        compare(store.path, tmp_path / "new", objectives=["ovr", "best"])
    assert not (tmp_path / "new").exists()
