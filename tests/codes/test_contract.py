"""What every code of the registry must do."""

from functools import partial

import numpy as np
import pytest

from myriad.codes import CODES, Code, CodeOptions, Source, learn_product, learn_rotated
from myriad.errors import InputError
from myriad.parallel import LearningContext
from myriad.serialisation import flatten, restore

SAME_SIZE = {"features"}
MIXING = {"rotated", "bilinear", "turned"}
DIM = 24


SPECIAL = {
    "rotated": partial(learn_rotated, d=4, bits=5),
    "padded": partial(learn_product, d=5, bits=5),
}
"""What pq becomes with some of its options."""


def make_rows(n=300, dim=DIM, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, dim)).astype(np.float32)


def learn_by_name(name, sample, seed=0):
    if name in SPECIAL:
        return SPECIAL[name](sample, context=LearningContext(seed))
    return CODES[name].learn(
        Source(sample), CodeOptions(name), LearningContext(seed=seed, threads=1)
    )


@pytest.fixture(params=[*CODES, *SPECIAL], scope="module")
def learned(request):
    rows = make_rows()
    learn = partial(learn_by_name, request.param)
    return learn(rows, seed=3), rows, learn


def test_shapes_types_and_ratio(learned):
    code, rows, _ = learned
    codes = code.encode(rows)
    assert isinstance(code, Code)
    assert code.dim == DIM
    assert codes.dtype == np.uint8
    assert codes.shape == (len(rows), code.bytes_per_row)
    decoded = code.decode(codes)
    assert decoded.dtype == np.float32
    assert decoded.shape == (len(rows), code.decoded_dim)
    assert code.ratio == pytest.approx(4 * DIM / code.bytes_per_row)
    assert code.ratio == 1 if code.kind in SAME_SIZE else code.ratio > 1
    assert code.describe()["kind"]


def test_rows_pass_between_the_two_spaces(learned):
    code, rows, _ = learned
    projected, decoded = code.project(rows), code.decode(code.encode(rows))
    assert projected.shape == decoded.shape
    assert projected.dtype == np.float32
    assert np.mean((projected - decoded) ** 2) < 0.65 * decoded.var()
    expanded = code.expand(decoded)
    assert expanded.shape == rows.shape
    assert expanded.dtype == np.float32
    np.testing.assert_allclose(code.project(expanded), decoded, atol=1e-5)
    if code.restores:
        assert projected is rows
        assert expanded is decoded


def test_decoding_is_near_and_a_projection(learned):
    code, rows, _ = learned
    decoded = code.decode(code.encode(rows))
    expanded = code.expand(decoded)
    assert np.mean((rows - expanded) ** 2) < 0.5 * rows.var()
    again = code.decode(code.encode(expanded))
    np.testing.assert_allclose(again, decoded, atol=1e-5)


def test_rows_are_coded_one_by_one(learned):
    code, rows, _ = learned
    whole = code.encode(rows[:7])
    single = np.concatenate([code.encode(rows[i : i + 1]) for i in range(7)])
    np.testing.assert_array_equal(whole, single)
    np.testing.assert_allclose(code.decode(whole)[3:4], code.decode(whole[3:4]), atol=1e-6)


def test_decodes_into_the_given_array(learned):
    code, rows, _ = learned
    codes = code.encode(rows)
    out = np.full((len(rows), code.decoded_dim), np.nan, np.float32)
    assert code.decode(codes, out) is out
    np.testing.assert_array_equal(out, code.decode(codes))


def test_every_byte_decodes_to_finite_values(learned):
    code, _, _ = learned
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 256, (50, code.bytes_per_row), dtype=np.uint8)
    codes[0], codes[1] = 0, 255
    if code.kind == "features":  # bytes of plain numbers, which can be anything
        with pytest.raises(InputError, match="NaN or infinite"):
            code.decode(codes)
    else:
        assert np.isfinite(code.decode(codes)).all()


def test_no_rows(learned):
    code, rows, _ = learned
    codes = code.encode(rows[:0])
    assert codes.shape == (0, code.bytes_per_row)
    assert code.decode(codes).shape == (0, code.decoded_dim)


def test_read_only_and_strided_codes(learned):
    code, rows, _ = learned
    codes = code.encode(rows)
    codes.flags.writeable = False
    rtol = 1e-5 if code.kind == "rotated" else 0  # a product's rounding follows its shape
    np.testing.assert_allclose(code.decode(codes[::2]), code.decode(codes)[::2], rtol, atol=rtol)


def test_is_kept_as_a_part(learned):
    code, rows, _ = learned
    settings, arrays = flatten(code)
    again = restore(settings, {name: array.copy() for name, array in arrays.items()}, Code)
    assert type(again) is type(code)
    np.testing.assert_array_equal(again.encode(rows), code.encode(rows))


def test_same_seed_same_code(learned):
    _, rows, learn = learned
    first, second = flatten(learn(rows)), flatten(learn(rows))
    assert first[0] == second[0]
    for name, array in first[1].items():
        np.testing.assert_array_equal(array, second[1][name])


@pytest.mark.parametrize("value", [0.0, 1.0, -3e38])
def test_constant_and_repeated_rows(learned, value):
    code, rows, learn = learned
    if code.kind in MIXING and abs(value) > 1:
        value = -1e37  # sums of values at the end of the range would overflow
    sample = np.full_like(rows, value)
    code = learn(sample)
    restored = code.expand(code.decode(code.encode(sample)))
    if code.kind == "bilinear":
        assert np.isfinite(restored).all()
    else:
        np.testing.assert_allclose(restored, sample, rtol=1e-5)


def test_repeated_points_are_kept_exactly(learned):
    learn = learned[2]
    if not learned[0].restores:
        pytest.skip("keeps no values")
    sample = np.repeat([[0.0], [0.0], [0.0], [1.0]], DIM, axis=1).astype(np.float32)
    sample = np.tile(sample, (100, 1))
    code = learn(sample)
    np.testing.assert_allclose(code.decode(code.encode(sample)), sample, atol=1e-5)


@pytest.mark.parametrize(
    "rows",
    [np.zeros((2, DIM + 1)), np.zeros(DIM), np.full((2, DIM), np.nan), np.full((2, DIM), np.inf)],
)
def test_refuses_rows_that_do_not_fit(learned, rows):
    with pytest.raises(InputError):
        learned[0].encode(rows)


def test_refuses_codes_that_do_not_fit(learned):
    code, rows, _ = learned
    codes = code.encode(rows)
    wrong = [codes[:, :-1], codes.astype(np.int8), codes[0], codes.tolist()]
    for bad in wrong:
        with pytest.raises(InputError, match="Codes must be"):
            code.decode(bad)
    shape = (len(rows), code.decoded_dim)
    read_only = np.empty(shape, np.float32)
    read_only.flags.writeable = False
    outs = [
        np.empty((3, code.decoded_dim), np.float32),
        np.empty(shape),
        read_only,
        np.empty(shape, np.float32, order="F"),
    ]
    for out in outs:
        with pytest.raises(InputError, match="decode into"):
            code.decode(codes, out)


def test_refuses_damaged_arrays(learned):
    settings, arrays = flatten(learned[0])
    for name, array in arrays.items():
        damaged = [
            array.astype(np.float64),
            array[..., None],
            array[:0],
            np.full_like(array, np.nan if array.dtype.kind == "f" else -2),
        ]
        for bad in damaged:
            with pytest.raises(InputError):
                restore(settings, {**arrays, name: bad}, Code)
