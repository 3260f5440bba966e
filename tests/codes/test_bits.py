"""Sign bits and chosen features by their definition."""

import numpy as np
import pytest

from myriad.codes import ChosenCode, SignCode, learn_bits, learn_chosen
from myriad.errors import InputError

DIM = 37


def make_rows(n=50, dim=DIM, seed=0):
    rows = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    rows[:, 3] = 0.0
    return rows


@pytest.mark.parametrize("n_bits", [1, 7, 8, 16, 29, DIM])
def test_agrees_with_the_definition(n_bits):
    rows = make_rows()
    information = np.random.default_rng(1).random(DIM)
    code = learn_bits(rows, n_bits=n_bits, information=information)
    best = np.argsort(-information)[:n_bits]
    np.testing.assert_array_equal(code.chosen, best)
    bits = rows[:, best] >= 0
    np.testing.assert_array_equal(code.encode(rows), np.packbits(bits, axis=1, bitorder="little"))
    np.testing.assert_array_equal(code.decode(code.encode(rows)), np.where(bits, 1.0, -1.0))
    assert code.bytes_per_row == -(-n_bits // 8)


@pytest.mark.parametrize("dim", [8, 24, DIM])
def test_all_features_keep_their_order(dim):
    rows = make_rows(dim=dim)
    code = learn_bits(rows)
    np.testing.assert_array_equal(code.decode(code.encode(rows)), np.where(rows >= 0, 1, -1))
    assert code.information is None


def test_negative_zero_counts_as_zero():
    code = learn_bits(np.zeros((1, 2)))
    np.testing.assert_array_equal(code.encode(np.array([[-0.0, 0.0]])), [[3]])


@pytest.mark.parametrize("n_bits", [1, 8, 19])
def test_a_shorter_code_is_the_beginning_of_a_longer_one(n_bits):
    rows = make_rows()
    information = np.random.default_rng(1).random(DIM)
    long = learn_bits(rows, n_bits=30, information=information)
    short = long.shorten(n_bits)
    np.testing.assert_array_equal(
        short.chosen, learn_bits(rows, n_bits=n_bits, information=information).chosen
    )
    np.testing.assert_array_equal(
        short.decode(short.encode(rows)), long.decode(long.encode(rows))[:, :n_bits]
    )
    with pytest.raises(InputError, match="cannot be cut"):
        short.shorten(n_bits + 1)


def test_magnitudes_are_mean_sizes():
    rows = make_rows()
    code = learn_bits(rows)
    np.testing.assert_allclose(code.magnitudes, np.abs(rows).mean(axis=0), rtol=1e-5)
    assert (code.project(rows)[:, 3] == 0).all()  # no size to divide by


def test_chosen_features_are_kept_exactly():
    rows = make_rows()
    information = np.random.default_rng(1).random(DIM)
    code = learn_chosen(rows, count=5, information=information)
    best = np.argsort(-information)[:5]
    np.testing.assert_array_equal(code.decode(code.encode(rows)), rows[:, best])
    assert code.bytes_per_row == 20
    expanded = code.expand(rows[:, best])
    np.testing.assert_array_equal(expanded[:, best], rows[:, best])
    assert (np.delete(expanded, best, axis=1) == 0).all()


@pytest.mark.parametrize("learn", [learn_bits, learn_chosen])
def test_refuses_what_does_not_fit(learn):
    rows = make_rows()
    name = "n_bits" if learn is learn_bits else "count"
    with pytest.raises(InputError, match="mutual information"):
        learn(rows, **{name: 5})
    with pytest.raises(InputError, match="between 1 and 37"):
        learn(rows, **{name: 38}, information=np.ones(DIM))
    with pytest.raises(InputError, match="do not fit"):
        learn(rows, information=np.ones(3))
    with pytest.raises(InputError, match="at least one"):
        learn(rows[:, :0])


@pytest.mark.parametrize(
    ("chosen", "says"),
    [([0, 0], "twice"), ([0, 4], "between"), ([-1, 0], "between"), ([], "at least 1")],
)
def test_refuses_features_that_do_not_exist(chosen, says):
    chosen = np.array(chosen, np.int32)
    with pytest.raises(InputError, match=says):
        SignCode(chosen, np.ones(len(chosen), np.float32), 4)
    with pytest.raises(InputError, match=says):
        ChosenCode(chosen, 4)
    with pytest.raises(InputError, match="number of features"):
        ChosenCode(np.zeros(1, np.int32), "4")
