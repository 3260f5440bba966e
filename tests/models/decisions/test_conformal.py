"""Prediction sets: the quantile, coverage over many draws, LAC against MAPIE."""

from dataclasses import replace

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.models import Decider
from myriad.models.decisions.conformal import (
    coverage_to_calibrate,
    find_quantile,
    find_sets,
    rows_needed,
)
from tests.models.folders import draw_rows, make_folder


def test_the_quantile_is_the_one_of_the_theorem():
    values = np.random.default_rng(0).normal(size=99)
    for coverage in (0.5, 0.9, 0.95, 0.99):
        rank = int(np.ceil(100 * coverage - 1e-9))
        assert find_quantile(values, coverage) == np.sort(values)[rank - 1]
    assert rows_needed(0.95) == 19
    assert rows_needed(0.99) == 99


@pytest.mark.parametrize("method", ["raps", "lac"])
@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_coverage_is_reached_on_average(method, coverage):
    """Over many calibration sets the mean coverage is the wanted one, or more by 1/(n + 1)."""
    found, top1 = [], []
    X, labels = draw_rows(500, 20, 4, seed=50)
    for seed in range(15):
        folder = make_folder(20, 4, n_rows=300 + seed)
        decider = Decider(folder, coverage=coverage, set_method=method)
        sets = decider.decide(X, 1).sets
        assert min(len(one) for one in sets) >= 1
        found.append(np.mean([y in one for y, one in zip(labels, sets, strict=True)]))
        top1.append((folder.model.scores(X).argmax(axis=1) == labels).mean())
    assert np.mean(found) >= coverage - 0.03
    assert np.mean(found) <= max(coverage + 0.04, np.mean(top1) + 1e-9)


@pytest.mark.parametrize("method", ["raps", "lac"])
def test_sets_of_very_many_classes_are_those_of_a_full_sort(method):
    folder = make_folder(300, 3, n_rows=500, scale=1.0)
    X, _ = draw_rows(60, 300, 3, seed=2)
    decider = Decider(folder, coverage=0.97, set_method=method)
    rule, P = decider.sets, decider.predict_proba(X)
    longest = 0
    for row, found in enumerate(decider.decide(X, 1).sets):
        order = np.argsort(-P[row], kind="stable")
        above = np.cumsum(P[row][order]) - P[row][order]
        ranks = np.arange(1, 301)
        value = 1 - P[row][order]
        if method == "raps":
            value = above + rule.penalty * np.maximum(ranks - rule.free, 0)
        inside = value <= rule.thresholds[0] + 1e-9
        inside[0] = True
        assert abs(len(found) - inside.sum()) <= 1  # rounding at the threshold
        np.testing.assert_array_equal(found, order[: len(found)])
        longest = max(longest, len(found))
    assert longest > 64


def test_thresholds_of_classes_with_enough_rows():
    calibration = make_folder(4, n_rows=300).calibration
    rule = find_sets(calibration, 0.9, method="lac", by_class=True, n_classes=5)
    values = 1.0 - calibration.true.astype(np.float64)
    for c in range(4):
        assert rule.thresholds[c] == find_quantile(values[calibration.labels == c], 0.9)
    assert rule.thresholds[4] == find_quantile(values, 0.9)  # a class without rows


def test_sets_are_smaller_where_the_final_model_misses_less():
    """A quarter fewer misses of the final model: as many more of the calibration rows."""
    calibration = make_folder(4, n_rows=2000).calibration
    better = replace(calibration, miss_ratio=4 / 3)
    values = 1.0 - calibration.true.astype(np.float64)
    for coverage in (0.7, 0.9, 0.99):
        rule = find_sets(better, coverage, method="lac", n_classes=4)
        odds = 4 / 3 * (1 - coverage) / coverage
        assert rule.thresholds[0] == find_quantile(values, 1 / (1 + odds))
        raps, plain = (find_sets(one, coverage, n_classes=4) for one in (better, calibration))
        assert raps.thresholds[0] <= plain.thresholds[0]
    assert coverage_to_calibrate(0.95, 1.0) == pytest.approx(0.95)


def test_lac_is_that_of_mapie():
    classification = pytest.importorskip("mapie.classification")
    from recipes.calibration_peers import Given

    folder = make_folder(12, n_rows=400)
    X, labels = draw_rows(400, 12, 6, seed=1)
    test, _ = draw_rows(100, 12, 6, seed=4)
    decider = Decider(folder, coverage=0.9, set_method="lac")
    P, P_test = decider.predict_proba(X), decider.predict_proba(test)
    peer = classification.SplitConformalClassifier(
        Given(12).fit(P, labels), confidence_level=0.9, conformity_score="lac", prefit=True
    )
    sets = peer.conformalize(P, labels.astype(int)).predict_set(P_test)[1][:, :, 0]
    own = decider.decide(test, 1).sets
    for row, found in zip(sets, own, strict=True):
        expected = np.flatnonzero(row) if row.any() else found[:1]  # ours are never empty
        np.testing.assert_array_equal(np.sort(found), expected)


def test_bad_coverages():
    calibration = make_folder(4).calibration
    for coverage in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="above 0 and below 1"):
            find_sets(calibration, coverage, n_classes=4)
    with pytest.raises(InputError, match="at least 999"):
        find_sets(calibration, 0.999, n_classes=4)
    with pytest.raises(InputError, match="raps or lac"):
        find_sets(calibration, 0.9, method="aps", n_classes=4)
