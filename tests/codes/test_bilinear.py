"""Bilinear codes against their definition."""

import numpy as np
import pytest

from myriad.codes import CODES, BilinearCode, CodeOptions, Source, learn_bilinear
from myriad.codes.bilinear import shape_bits, shape_matrix
from myriad.errors import InputError
from myriad.parallel import LearningContext
from tests.posting import open_posting


def make_rows(n=200, dim=60, seed=0):
    """Return rows with structure on both sides of their matrix."""
    rng = np.random.default_rng(seed)
    d1, d2 = shape_matrix(dim)
    left, right = rng.standard_normal((d1, d1)), rng.standard_normal((d2, d2))
    matrices = left @ rng.standard_normal((n, d1, d2)) @ right
    return matrices.reshape(n, -1)[:, :dim].astype(np.float32)


@pytest.mark.parametrize("learned", [True, False])
@pytest.mark.parametrize(("dim", "n_bits"), [(60, None), (60, 30), (61, 20), (3, 2)])
def test_bits_are_signs_of_the_turned_matrix(learned, dim, n_bits):
    rows = make_rows(40, dim)
    code = learn_bilinear(rows, n_bits=n_bits, learned=learned)
    d1, d2 = len(code.left), len(code.right)
    padded = np.zeros((40, d1 * d2))
    padded[:, :dim] = rows
    expected = [code.left.T @ x @ code.right for x in padded.reshape(40, d1, d2)]
    expected = np.stack(expected).reshape(40, -1)
    sure = np.abs(expected) > 1e-4
    decoded = code.decode(code.encode(rows))
    np.testing.assert_array_equal(decoded[sure], np.sign(expected)[sure])
    assert code.decoded_dim <= (n_bits or dim)


def test_learning_brings_rows_nearer_to_their_signs():
    rows = make_rows(300, 64)
    errors = []
    for code in (learn_bilinear(rows, learned=False), learn_bilinear(rows, rounds=10)):
        error = code.expand(code.decode(code.encode(rows))) - rows
        errors.append(np.square(error).sum() / np.square(rows).sum())
    assert errors[1] < 0.97 * errors[0]


def test_the_same_on_any_number_of_threads_and_workers(tmp_path):
    rows, workers = make_rows(300, 60), open_posting(tmp_path / "shared")
    one = learn_bilinear(rows, context=LearningContext(threads=1))
    for context in (LearningContext(threads=2), LearningContext(workers=workers)):
        other = learn_bilinear(rows, context=context)
        np.testing.assert_array_equal(one.left, other.left)
        np.testing.assert_array_equal(one.right, other.right)
    assert len(workers.executor.sent) % (2 * 3) == 0  # three tasks for each side in each round
    assert max(workers.executor.sent) < 4 * 60 * 300 / 10  # rows stay in the file
    assert list(workers.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("dim", "shape"), [(131072, (256, 512)), (512, (16, 32)), (1, (1, 1)), (7, (2, 4)), (6, (2, 3))]
)
def test_matrices_are_near_squares(dim, shape):
    assert shape_matrix(dim) == shape


@pytest.mark.parametrize(
    ("n_bits", "shape"),
    [(131072, (256, 512)), (32768, (128, 256)), (1, (1, 1)), (10**9, (256, 512))],
)
def test_bits_are_shared_out_evenly(n_bits, shape):
    assert shape_bits(256, 512, n_bits) == shape


def test_refuses_sides_that_do_not_fit():
    left, right = np.eye(2, dtype=np.float32), np.eye(3, dtype=np.float32)
    BilinearCode(left, right, 1.0, 6)
    for bad in [(left, right, 1.0, 7), (left, right, 1.0, 1), (2 * left, right, 1.0, 6)]:
        with pytest.raises(InputError):
            BilinearCode(*bad)
    for magnitude in (-1.0, float("nan"), "1"):
        with pytest.raises(InputError, match="magnitude"):
            BilinearCode(left, right, magnitude, 6)
    with pytest.raises(InputError, match="at least one bit"):
        learn_bilinear(make_rows(), n_bits=0)
    with pytest.raises(InputError, match="at least one row"):
        learn_bilinear(np.empty((0, 4)))


def test_rows_are_reshaped_and_centred_as_asked():
    rows = make_rows(40, 60) + np.float32(5)
    code = learn_bilinear(rows, shape=(4, 15), centred=True, n_bits=24)
    assert (len(code.left), len(code.right)) == (4, 15)
    away = (rows - rows.mean(axis=0)).reshape(40, 4, 15).astype(np.float64)
    expected = np.stack([code.left.T @ x @ code.right for x in away]).reshape(40, -1)
    sure = np.abs(expected) > 1e-3
    decoded = code.decode(code.encode(rows))
    np.testing.assert_array_equal(decoded[sure], np.sign(expected)[sure])
    np.testing.assert_allclose(code.project(code.expand(decoded)), decoded, atol=1e-4)
    asked = CodeOptions("bilinear", reshape="4x15", subtract_mean=True)
    learned = CODES["bilinear"].learn(Source(rows), asked, LearningContext(threads=1))
    assert learned.left.shape[0] == 4
    assert learned.centre is not None


@pytest.mark.parametrize("shape", ["4x", "0x60", "4x15x2", "axb"])
def test_shapes_that_are_none_are_refused(shape):
    with pytest.raises(InputError, match="--reshape must be two numbers"):
        CodeOptions("bilinear", reshape=shape)
    with pytest.raises(InputError, match="cannot be reshaped to 4x16"):
        learn_bilinear(make_rows(), shape=(4, 16))
