"""The verdicts of docs/evidence.md follow from the numbers."""

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
        ([], {}, "not run"),
    ],
)
def test_a_difference_is_decided_by_its_standard_error(recipes, gains, options, verdict):
    from evidence_claims import compare_seeds

    assert compare_seeds(gains, **options)[1] == verdict


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
