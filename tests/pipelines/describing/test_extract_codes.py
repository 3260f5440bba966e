"""From a ratio to a code."""

import numpy as np
import pytest

from myriad.codes import CodeOptions, Source
from myriad.codes.packing import packed_bytes
from myriad.codes.product import choose_product
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.options import flat_values
from myriad.pipelines.describing.code_learning import learn_code
from myriad.pipelines.stores.compress import measure_error
from myriad.store import ArrayRows, feature_information
from tests.reference import information as plain


def make_rows(n=300, dim=40, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n).astype(np.int32)
    means = rng.standard_normal((3, dim)) * np.linspace(0, 1.5, dim)
    return (rng.standard_normal((n, dim)) + means[labels]).astype(np.float32), labels


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (32, (8, 8)),
        (64, (8, 4)),
        (128, (8, 2)),
        (256, (8, 1)),
        (4, (1, 8)),
        (16, (4, 8)),
        (40, (8, 6)),
    ],
)
def test_product_codes_of_the_paper(ratio, expected):
    assert choose_product(131072, ratio) == expected


@pytest.mark.parametrize("dim", [1, 5, 20, 37, 100, 1000])
@pytest.mark.parametrize("ratio", [1, 4, 10, 32, 100])
def test_the_ratio_is_met_if_it_can_be(dim, ratio):
    try:
        d, bits = choose_product(dim, ratio)
    except InputError:
        assert ratio * packed_bytes(-(-dim // min(dim, 64)), 1) > 4 * dim
    else:
        assert 4 * dim / packed_bytes(-(-dim // d), bits) >= ratio


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (CodeOptions("bits"), 1000),
        (CodeOptions("bits", 16), 1000),
        (CodeOptions("bits", 64), 496),
        (CodeOptions("bits", keep=0.25), 250),
        (CodeOptions("none", keep=0.25), 250),
        (CodeOptions("none", 4), 250),
        (CodeOptions("bilinear", 128), 248),
    ],
)
def test_features_that_are_kept(options, count):
    assert options.spec.count_features(1000, options) == count


@pytest.mark.parametrize(
    "options",
    [
        CodeOptions("pq", 16),
        CodeOptions("pq", 16, rotation="random"),
        CodeOptions("pq", 32, rotation="opq"),
        CodeOptions("bits", 64),
        CodeOptions("bits", 64, bins=4),
        CodeOptions("bilinear", 64),
        CodeOptions("bilinear", 64, random=True),
        CodeOptions("scalar"),
        CodeOptions("none", keep=0.5),
    ],
    ids=str,
)
def test_learned_codes_meet_the_options(options):
    X, labels = make_rows()
    spec, information = options.spec, None
    if spec.uses_information:
        information = feature_information(ArrayRows(X, labels), bins=spec.bins(options))
    code = learn_code(Source(X, information), options)
    own = flat_values(options.own)
    assert code.ratio >= (options.ratio or 1 / (own.get("keep") or 1))
    described = code.describe()
    assert described["kind"] == {"none": "features"}.get(options.codes, options.codes)
    assert ("rotation" in described) == (own.get("rotation", "none") != "none")
    if spec.uses_information:
        np.testing.assert_array_equal(
            code.chosen, np.argsort(-information, kind="stable")[: code.decoded_dim]
        )
    error = measure_error(code, [X[:100], X[100:]])
    lost = code.expand(code.decode(code.encode(X))) - X
    assert error == pytest.approx(np.square(lost).sum() / np.square(X).sum(), rel=1e-4)


def test_padding_is_stated():
    X, _ = make_rows(300, 37)
    assert learn_code(Source(X), CodeOptions("pq", 29)).describe()["padding"] == 3


def test_information_of_rows_with_several_labels():
    X, labels = make_rows(120, 6)
    sets = [[int(c), 3] if i % 2 else [int(c)] for i, c in enumerate(labels)]
    rows = ArrayRows(X, LabelSets.from_lists(sets))
    expected = plain.inform(X, sets, 4, several=True)
    np.testing.assert_allclose(feature_information(rows), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"codes": "zip"}, "--codes"),
        ({"ratio": 0.5}, "--ratio"),
        ({"ratio": float("nan")}, "--ratio"),
        ({"codes": "scalar", "ratio": 8}, "scalar"),
        ({"codes": "bits", "keep": 0.0}, "--keep"),
        ({"codes": "bits", "keep": 1.5}, "--keep"),
        ({"codes": "pq", "keep": 0.5}, "--keep belongs"),
        ({"codes": "bits", "keep": 0.5, "ratio": 64}, "give only one"),
        ({"rotation": "half"}, "--rotation"),
        ({"codes": "bits", "rotation": "opq"}, "--rotation belongs"),
        ({"codes": "bits", "bins": 3}, "--bins"),
        ({"codes": "pq", "bins": 4}, "--bins belongs"),
        ({"codes": "bits", "random": True}, "--random belongs"),
    ],
)
def test_refuses_options_that_do_not_fit(options, says):
    with pytest.raises(InputError, match=says):
        CodeOptions(**options)


def test_refuses_what_cannot_be_reached():
    X, labels = make_rows()
    with pytest.raises(InputError, match="less than a byte"):
        learn_code(Source(X), CodeOptions("bits", 1000))
    with pytest.raises(InputError, match="product codes reach"):
        learn_code(Source(X), CodeOptions("pq", 1000))
    with pytest.raises(InputError, match="too few for 256"):
        learn_code(Source(X[:100]), CodeOptions("pq", 32))
    information = feature_information(ArrayRows(np.abs(X), labels))
    with pytest.raises(InputError, match="by its sign"):
        learn_code(Source(np.abs(X), information), CodeOptions("bits"))
