"""Rotated product codes."""

import numpy as np
import pytest

from myriad.codes import ProductCode, RotatedCode, learn_bits, learn_rotated
from myriad.codes.rotated import choose_size, rotate
from myriad.errors import InputError
from myriad.parallel import LearningContext
from tests.posting import open_posting


def make_rows(n=600, dim=32, seed=0):
    """Return rows whose features have very different sizes, which product codes dislike."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, dim)) * np.geomspace(3, 0.05, dim)).astype(np.float32)


def error_of(code, rows):
    return float(np.square(code.decode(code.encode(rows)) - rows).sum())


def test_blocks_are_turned_and_the_rest_stays():
    rows = make_rows(130, 11)
    rotation, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))
    rotated = rotate(rows, rotation.astype(np.float32))
    for start in (0, 4):
        expected = rows[:, start : start + 4].astype(np.float64) @ rotation
        np.testing.assert_allclose(rotated[:, start : start + 4], expected, atol=1e-5)
    np.testing.assert_array_equal(rotated[:, 8:], rows[:, 8:])


def test_rotations_lower_the_error():
    rows = make_rows()
    plain, drawn, learned = (
        error_of(learn_rotated(rows, rotation=name, d=4, bits=4), rows)
        for name in ("none", "random", "opq")
    )
    assert isinstance(learn_rotated(rows, rotation="none", d=4, bits=4), ProductCode)
    assert drawn != plain
    assert learned < 0.9 * min(plain, drawn)


@pytest.mark.parametrize(
    ("dim", "d", "size"),
    [(512, 8, 512), (131072, 8, 512), (1000, 8, 200), (1021, 8, 512), (5, 8, 5)],
)
def test_whole_subvectors_are_turned(dim, d, size):
    assert choose_size(dim, d) == size


@pytest.mark.parametrize("rotation", ["random", "opq"])
@pytest.mark.parametrize("dim", [20, 22])
def test_any_length(rotation, dim):
    rows = make_rows(300, dim)
    code = learn_rotated(rows, rotation=rotation, d=4, bits=3)
    assert error_of(code, rows) < 0.7 * np.square(rows).sum()


def test_the_same_by_workers(tmp_path):
    rows, workers = make_rows(300, 20), open_posting(tmp_path / "shared")
    here, there = (
        learn_rotated(rows, rotation="random", d=4, bits=3, context=LearningContext(workers=where))
        for where in (None, workers)
    )
    np.testing.assert_array_equal(here.rotation, there.rotation)
    np.testing.assert_array_equal(here.code.codebooks, there.code.codebooks)
    assert len(workers.executor.sent) == 5


@pytest.mark.parametrize(
    ("n", "dim", "d", "bits"), [(3, 16, 8, 1), (20, 64, 4, 4), (330, 512, 8, 8)]
)
def test_fewer_rows_than_features(n, dim, d, bits):
    rows = make_rows(n, dim)
    code = learn_rotated(rows, rotation="opq", d=d, bits=bits)
    np.testing.assert_allclose(code.rotation @ code.rotation.T, np.eye(dim), atol=1e-3)
    plain = learn_rotated(rows, rotation="none", d=d, bits=bits)
    assert error_of(code, rows) <= 1.001 * error_of(plain, rows)


@pytest.mark.parametrize("rotation", ["none", "random", "opq"])
@pytest.mark.parametrize(
    "settings",
    [
        {"bits": 0},
        {"bits": -1},
        {"bits": 9},
        {"bits": 2.0},
        {"d": 0},
        {"d": 4.0},
        {"period": -4},
        {"period": 0},
        {"period": 64},
        {"period": 16.0},
    ],
)
def test_settings_are_checked_before_anything_is_learned(rotation, settings):
    with pytest.raises(InputError):
        learn_rotated(make_rows(600), **({"rotation": rotation, "d": 4, "bits": 2} | settings))


def test_rows_whose_squares_overflow_are_refused():
    with pytest.raises(InputError, match="scale them down"):
        learn_rotated(make_rows(64, 8) * np.float32(1e37), rotation="opq", d=4, bits=2)


@pytest.mark.parametrize("shape", [(0, 16), (16, 0), (0, 0)])
def test_empty_samples_are_refused(shape):
    for rotation in ("none", "random", "opq"):
        with pytest.raises(InputError):
            learn_rotated(np.zeros(shape, np.float32), rotation=rotation, d=4, bits=1)


def test_refuses_what_does_not_fit():
    rows = make_rows(20)
    with pytest.raises(InputError, match="none, random, opq"):
        learn_rotated(rows, rotation="half")
    with pytest.raises(InputError, match="too few"):
        learn_rotated(rows, rotation="opq", bits=8)
    with pytest.raises(InputError, match="too few"):
        learn_rotated(rows, rotation="random", bits=8)
    with pytest.raises(InputError, match="sub-vector"):
        learn_rotated(rows, d=33)
    code = learn_rotated(rows, rotation="none", d=4, bits=2)
    eye = np.eye(8, dtype=np.float32)
    for bad in (2 * eye, eye[:4], eye.astype(np.float64), np.eye(64, dtype=np.float32)):
        with pytest.raises(InputError, match="rotation"):
            RotatedCode(bad, code)
    for bad in (None, learn_bits(rows)):
        with pytest.raises(InputError, match="restores"):
            RotatedCode(eye, bad)
