"""The verdicts of docs/evidence.md follow from the numbers."""

import json

import numpy as np
import pytest

from tests.scripts import ROOT


@pytest.fixture
def recipes(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "recipes"))


@pytest.mark.parametrize(
    ("gains", "options", "verdict"),
    [
        ([1.0, 1.2, 0.9], {}, "holds"),
        ([0.5, -0.6, 0.3], {}, "undecided"),
        ([-2.0, -2.2, -1.9], {}, "**does not hold**"),
        ([-2.0, -2.2, -1.9], {"sign": -1}, "holds"),
        ([-0.2, -0.3, -0.2], {"least": -1.0}, "holds"),
        ([1.2], {}, "holds"),
        ([0.8], {}, "undecided"),
        ([0.0, 0.0], {}, "**does not hold**"),
        ([-0.2, 0.1, 0.2, -0.1] * 4, {}, "**does not hold**"),
        ([-0.2, 0.1, 0.2, -0.1] * 4, {"least": -1.0}, "holds"),
        ([0.0, 0.0], {"tested": 240}, "undecided"),
        ([], {}, "not run"),
        ([4.2], {"tested": 24}, "undecided"),
        ([4.2], {"tested": 240}, "holds"),
    ],
)
def test_a_difference_is_decided_by_its_standard_error(recipes, gains, options, verdict):
    from evidence_claims import compare_seeds

    assert compare_seeds(gains, **options)[1] == verdict


def test_comparisons_of_our_own_are_not_counted(recipes):
    from evidence_claims import FAILS, HOLDS, OURS, count_verdict, format_claims

    claims = [("a", "+1.0", "+2.0", HOLDS), ("b", OURS, "+1.0", HOLDS), ("c", "+1.0", "−1", FAILS)]
    text = f"Some words | {HOLDS} |\n\n{format_claims(claims)}"
    assert (count_verdict(text, HOLDS), count_verdict(text, FAILS)) == (1, 1)


def test_a_main_claim_that_does_not_hold_has_a_reason(recipes, monkeypatch):
    import evidence_summary
    from evidence_claims import FAILS, HOLDS, format_claims

    starts = (("a", "because"), ("b", "although"))
    monkeypatch.setattr(evidence_summary, "MAIN", {"[XY]": starts})
    claims = [("a (1)", "+1", "−1", FAILS), ("c", "+1", "+1", HOLDS), ("b (2)", "+1", "+1", HOLDS)]
    table = evidence_summary.table_of_main_claims({"[XY] Paper": format_claims(claims)})
    assert table.splitlines()[2:] == [
        f"| [XY] | a (1) | +1 | −1 | {FAILS}: because |",
        f"|  | b (2) | +1 | +1 | {HOLDS} |",
    ]


def test_tables_are_printed_for_other_results(recipes, monkeypatch, tmp_path):
    from evidence import format_tables
    from evidence_claims import Source

    monkeypatch.setattr(Source, "folder", tmp_path)
    assert format_tables()["tables"].count("\n\nNot run.") == 5
    run = {"machine": "a machine", "commit": "1", "date": "2026-01-01"}
    row = {"chosen": {}, "test": [float(n) for n in range(6)]} | run
    lines = {f"table8/{line}/0": {"test": 5.0} | run for line in ("Wsabie++", "Wsabie")}
    found = {
        "first": {"recipe": "silhouettes", "data": "birds", "cells": {"OVA": row}},
        "second": {"recipe": "highly_multiclass", "set": "birds", "cells": lines},
        "other": [1, 2],
    }
    for name, content in found.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), "utf-8")
    text = "\n\n".join(format_tables().values())
    assert "birds, `recipes/silhouettes.py`. Run on 2026-01-01, a machine." in text
    assert "| OVA | 0.00 | 1.00 |" in text
    assert "| Table 8: Wsabie++ | 5.0 |" in text
    assert "| Wsabie++ is ahead of Wsabie (birds) | +3.7 to +5.4 | +0.0 | undecided |" in text
    assert "61.81" not in text  # of the paper's own data
    assert "![" not in text  # plots are drawn of our own results
    assert "| not run |\n| --- |" in text
    assert text.count("| not run |") == 1  # what has not been run is left out


def test_the_range_of_one_value_is_the_value(recipes):
    from evidence_claims import show_range

    assert show_range([3.0, 1.0], ".1f", " times") == "1.0 to 3.0 times"
    assert show_range([1.0], "+.1f") == "+1.0"
    assert show_range([], "+.1f") == "–"


def test_differences_are_paired_by_seed(recipes):
    from evidence_claims import average, pair

    cells = {"a/0": {"top1": 3.0}, "a/2": {"top1": 5.0}, "b/0": {"top1": 1.0}, "b/1": {"top1": 9.0}}
    assert pair(cells, "a", "b", "top1") == [2.0]
    assert average(cells, "a", "top1") == (4.0, 2)
    assert average(cells, "c", "top1") is None


def test_a_row_is_reproduced_if_all_its_columns_are_near(recipes):
    from evidence_topk import NEAR, SILHOUETTES, compare

    paper = SILHOUETTES["top-10 alpha"]
    near = [number + 0.9 * NEAR for number in paper]
    cell = {"test": near, "chosen": {"C": "1e-2", "gap": 1e-3}}
    assert "reproduced" in compare(cell, "top-10 alpha")[-1]
    cell["test"] = [*near[:-1], paper[-1] - 2 * NEAR]
    assert compare(cell, "top-10 alpha")[-1] == "top-1 +0.63, at most -1.40"


def test_one_split_of_other_data_decides_only_what_is_clear(recipes):
    from evidence_topk import claims_of_silhouettes

    cells = {
        "top-10 alpha": {"test": [50.0, 0, 0, 0, 60.0, 0], "tested": 200},
        "top-1 alpha": {"test": [50.4, 0, 0, 0, 59.0, 0], "tested": 200},
    }
    verdicts = {own: next(claims_of_silhouettes(cells, own=own))[-1] for own in (True, False)}
    assert verdicts == {True: "holds", False: "undecided"}


def test_tables_of_codes_are_those_of_the_gaussians_that_were_run(recipes):
    from evidence_codes import compare_times, find_size

    assert find_size({"8/none/1": {}, "64/none/1": {}}) == 8
    assert find_size({"8/none/1": {}, "128/none/1": {}}) == 128
    assert find_size({}) == 128
    for times, verdict in (
        ([0.01, 0.03], "undecided"),
        ([0.1, 0.9], "holds"),
        ([0.9, 0.1], "**does not hold**"),
        ([None, 0.1], "not run"),
    ):
        assert compare_times(times, 1, holds=lambda a, b: a < b)[1] == verdict


def test_two_codes_are_compared_image_by_image(recipes):
    from evidence_codes import compare_images, decide

    def tell(*right):
        return {"right": np.packbits(right).tobytes().hex()}

    first, second = tell(1, 1, 1, 1, 1, 0), tell(1, 0, 1, 0, 1, 0)
    gain, error = compare_images(first, second, [4, 2])
    assert gain == pytest.approx(100 * (0.5 + 0.0) / 2)
    assert error == pytest.approx(100 * np.sqrt(0.25 / 4) / 2)
    assert decide((gain, error))[1] == "undecided"
    assert decide((3.0, 1.0)) == ("+3.0 ± 1.0", "holds")
    assert decide((-3.0, 1.0))[1] == "**does not hold**"
    assert decide((-3.0, 0.5), least=-5.0)[1] == "holds"
    assert decide(compare_images(None, second, [4, 2]))[1] == "not run"
    assert compare_images(first | {"rows": "a"}, second | {"rows": "b"}, [4, 2]) is None


def test_rows_in_their_span_have_the_same_inner_products(recipes):
    from good_practice_rows import reduce

    draws = np.random.default_rng(0)
    X, X_test = draws.standard_normal((2, 6, 40)).astype(np.float32)
    L, projected = reduce(X, X_test)
    assert L.shape == projected.shape == (6, 6)
    np.testing.assert_allclose(L @ L.T, X @ X.T, atol=1e-4)
    np.testing.assert_allclose(projected @ L.T, X_test @ X.T, atol=1e-4)
    same = reduce(X[:, :5], X_test[:, :5])
    assert same[0].shape == (6, 5)
