"""VLAD against its definition."""

from dataclasses import replace

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.signatures import VladSignature, learn_vlad
from tests.reference.fisher import normalise
from tests.signatures.crops import SMALL, crops, nearest


@pytest.fixture(scope="module")
def vlad():
    return learn_vlad(crops(), **SMALL)


@pytest.mark.parametrize("within", [False, True])
def test_vlad_agrees_with_the_definition(vlad, within):
    values, words, inside = nearest(vlad, crops()[1])
    residuals = values - vlad.words.centres[words]
    sums = np.stack(
        [np.stack([residuals[i & (words == k)].sum(axis=0) for k in range(9)]) for i in inside]
    )
    if within:
        sums /= np.maximum(np.linalg.norm(sums, axis=2, keepdims=True), 1e-12)
    signature = VladSignature(vlad.descriptor, vlad.pca, vlad.words, 4, within=within)
    described = signature.describe(crops()[1])
    assert described.shape == (vlad.dim,) == (4 * 9 * 10,)
    np.testing.assert_allclose(described, normalise(sums.reshape(4, -1)), atol=1e-4)


@pytest.mark.parametrize("change", [{"power": 2}, {"within": 1}])
def test_refuses_damaged_fields_of_vlad(vlad, change):
    with pytest.raises(InputError):
        replace(vlad, **change)
