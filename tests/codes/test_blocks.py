"""Codes of blocks of columns, each compared with the code of the block alone."""

import numpy as np
import pytest

from myriad.codes import BlockCode, FloatCode, learn_bits, learn_scalar
from myriad.errors import InputError
from myriad.serialisation import flatten, restore

X = np.random.default_rng(5).normal(size=(40, 24)).astype(np.float32)


def test_each_block_is_coded_by_its_own_code():
    scalar = learn_scalar(X[:, :16])
    code = BlockCode((scalar, FloatCode(8)))
    assert (code.dim, code.bytes_per_row, code.restores) == (24, 16 + 32, True)
    decoded = code.decode(code.encode(X))
    np.testing.assert_array_equal(decoded[:, 16:], X[:, 16:])
    np.testing.assert_array_equal(decoded[:, :16], scalar.decode(scalar.encode(X[:, :16])))
    np.testing.assert_array_equal(restore(*flatten(code)).encode(X), code.encode(X))


def test_codes_that_do_not_restore_rows():
    bits = learn_bits(X[:, :16], n_bits=8, information=np.arange(16.0))
    code = BlockCode((bits, FloatCode(8)))
    assert (code.decoded_dim, code.restores) == (16, False)
    np.testing.assert_array_equal(code.project(X)[:, :8], bits.project(X[:, :16]))
    expanded = code.expand(code.decode(code.encode(X)))
    assert expanded.shape == X.shape
    np.testing.assert_array_equal(expanded[:, 16:], X[:, 16:])


@pytest.mark.parametrize("codes", [(), (3,)])
def test_damaged_settings_are_refused(codes):
    with pytest.raises(InputError, match="a code for each block"):
        BlockCode(codes)
    with pytest.raises(InputError, match="at least 1"):
        FloatCode(0)
