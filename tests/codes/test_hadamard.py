"""Bits of rows that are rotated first."""

import numpy as np
import pytest

from myriad.codes import (
    HadamardCode,
    HadamardRotation,
    SignCode,
    draw_rotation,
    learn_bits,
    learn_hadamard,
)
from myriad.errors import InputError
from myriad.store import ArrayRows, feature_information
from tests.reference.hadamard import rotate

RNG = np.random.default_rng(0)


def draw(n, dim, shift=3.0):
    return (RNG.normal(size=(n, dim)) + shift).astype(np.float32)


@pytest.mark.parametrize("dim", [1, 2, 3, 8, 21, 64, 100, 4096, 20000])
def test_rows_are_rotated_as_by_whole_matrices(dim):
    X = draw(6, dim)
    rotation = draw_rotation(X, seed=4)
    rotated = rotation.transform(X)
    if dim <= 4096:
        for row, found in zip(X, rotated, strict=True):
            expected = rotate(row, rotation.centre, rotation.flips)
            np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(
        np.linalg.norm(rotated, axis=1), np.linalg.norm(X - X.mean(0), axis=1), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(rotation.inverse_transform(rotated), X, atol=1e-4)


def test_agreeing_bits_tell_the_angle():
    """Signs of plain features do not: those of the few strong ones are lost among the others."""
    sizes = np.where(np.arange(4096) < 64, 30.0, 1.0)
    a, b = RNG.normal(size=(2, 4096)) * sizes
    b = np.where(np.arange(4096) < 64, a + 0.3 * b, b)
    X = np.stack([a, b, -a, -b]).astype(np.float32)
    angle = np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
    plain, rotated = learn_bits(X), learn_hadamard(X)
    share = {}
    for code in (plain, rotated):
        bits = code.decode(code.encode(X))
        share[code.kind] = (bits[0] == bits[1]).mean()
    assert share["turned"] == pytest.approx(1 - angle / np.pi, abs=0.03)
    assert share["bits"] < 0.6 < share["turned"] - 0.2


def test_the_most_informative_rotated_features_are_kept():
    labels = np.arange(200) % 3
    X = draw(200, 40) + np.where(labels[:, None] == 1, np.linspace(0, 2, 40), 0)
    X = X.astype(np.float32)
    rotation = draw_rotation(X, seed=1)
    information = feature_information(ArrayRows(X, labels), row_map=rotation, threads=2)
    expected = feature_information(ArrayRows(rotation.transform(X), labels))
    np.testing.assert_array_equal(information, expected)
    code = learn_hadamard(X, n_bits=16, information=information, seed=1)
    np.testing.assert_array_equal(code.chosen, np.argsort(-information, kind="stable")[:16])
    np.testing.assert_array_equal(
        code.decode(code.encode(X)), np.where(rotation.transform(X)[:, code.chosen] >= 0, 1, -1)
    )
    fewer = code.shorten(8)
    np.testing.assert_array_equal(fewer.encode(X), code.encode(X)[:, :1])
    np.testing.assert_array_equal(fewer.information, information.astype(np.float32))


def test_without_labels_the_first_bits_are_kept():
    X = draw(10, 30)
    whole, part = learn_hadamard(X), learn_hadamard(X, n_bits=16)
    np.testing.assert_array_equal(part.encode(X), whole.encode(X)[:, :2])
    assert part.information is None
    assert part.ratio == 60


def test_other_seeds_turn_otherwise():
    X = draw(5, 32)
    assert (draw_rotation(X, seed=0).flips != draw_rotation(X, seed=1).flips).any()
    np.testing.assert_array_equal(draw_rotation(X, seed=2).flips, draw_rotation(X, seed=2).flips)


def test_refuses_parts_that_do_not_fit():
    X = draw(5, 32)
    code = learn_hadamard(X)
    flips = code.turning.flips
    for centre, signs in (
        (np.zeros(16, np.float32), flips),
        (np.zeros(0, np.float32), flips[:, :0]),
        (np.full(32, np.inf, np.float32), flips),
        (np.zeros(32, np.float32), flips * 2),
        (np.zeros(32, np.float32), flips.astype(np.int16)),
        (np.zeros((1, 32), np.float32), flips),
    ):
        with pytest.raises(InputError):
            HadamardRotation(centre, signs)
    with pytest.raises(InputError, match="does not fit"):
        HadamardCode(code.turning, learn_bits(draw(3, 16)))
    with pytest.raises(InputError, match="rotation of Hadamard bits must be"):
        HadamardCode(code.code, code.code)
    assert isinstance(code.code, SignCode)


@pytest.mark.parametrize("n_bits", [0, 33, -1])
def test_refuses_a_number_of_bits_out_of_reach(n_bits):
    with pytest.raises(InputError, match="between 1 and 32"):
        learn_hadamard(draw(5, 32), n_bits=n_bits)


@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_refuses_an_empty_sample(shape):
    with pytest.raises(InputError):
        learn_hadamard(np.zeros(shape, np.float32))
