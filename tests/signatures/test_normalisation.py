"""Power and norms."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.signatures.normalisation import check_power, normalise_regions
from tests.reference import fisher as reference


@pytest.mark.parametrize("power", [0.5, 0.3, 1.0])
def test_agrees_with_the_definition(power):
    regions = np.random.default_rng(0).standard_normal((4, 30)).astype(np.float32)
    expected = reference.normalise(regions.astype(np.float64), power)
    np.testing.assert_allclose(normalise_regions(regions, power=power), expected, atol=1e-6)


def test_an_empty_region_stays_zero_and_the_norm_is_one():
    regions = np.random.default_rng(0).standard_normal((3, 10)).astype(np.float32)
    regions[1] = 0
    expected = reference.normalise(regions.astype(np.float64))
    signature = normalise_regions(regions, power=0.5)
    np.testing.assert_allclose(signature, expected, atol=1e-6)
    assert np.linalg.norm(signature) == pytest.approx(1)
    assert not signature[10:20].any()


def test_zero_stays_zero():
    assert not normalise_regions(np.zeros((2, 5), np.float32), power=0.5).any()


@pytest.mark.parametrize("power", [0, -1, 1.5, float("nan"), "half", True, None])
def test_refuses_other_powers(power):
    with pytest.raises(InputError):
        check_power(power)
