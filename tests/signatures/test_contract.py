"""What every signature of the registry that is learned must do."""

from dataclasses import fields, replace

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.parallel import LearningContext
from myriad.pipelines.planning.drawn_images import DrawnImages, draw_image
from myriad.serialisation import Serialisable, flatten, restore
from myriad.signatures import SIGNATURES, Signature, SignatureOptions
from myriad.signatures.spec import NetworkSpec

LEARNED = [name for name, spec in SIGNATURES.items() if not isinstance(spec, NetworkSpec)]
IMAGES = DrawnImages([draw_image((60, 70), seed) for seed in range(6)])


def learn(name, *, seed=0, threads=1):
    options = SignatureOptions(name, components=4, step=8)
    return options.spec.learn(IMAGES, options, LearningContext(seed, threads))


@pytest.fixture(scope="module", params=LEARNED)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def signature(name):
    return learn(name)


def odd_images(signature):
    """Yield a drawn image, one of one colour, and images of few pixels."""
    yield IMAGES.read(0, colour=signature.colour)
    for shape in ((40, 50), (1, 1), (1, 500), (9, 3)):
        yield np.full((*shape, 3) if signature.colour else shape, 9, np.uint8)


def test_any_image_has_a_finite_row_and_the_same_after_a_round_trip(signature):
    again = restore(*flatten(signature), Signature)
    assert type(again) is type(signature)
    for image in odd_images(signature):
        row = signature.describe(image)
        assert row.dtype == np.float32
        assert row.shape == (signature.dim,)
        assert np.isfinite(row).all()
        assert np.linalg.norm(row) <= 1.0001
        np.testing.assert_array_equal(again.describe(image), row)


def test_images_differ(signature):
    rows = [signature.describe(IMAGES.read(i, colour=signature.colour)) for i in (0, 1)]
    assert rows[0] @ rows[1] < 0.999


def test_regions_and_cells_divide_the_features(signature):
    assert signature.dim % signature.period == 0
    if signature.cells is not None:
        assert signature.cells.shape == (signature.dim,)


def test_depends_on_the_seed_but_not_on_threads(name, signature):
    arrays = flatten(signature)[1]
    for key, array in flatten(learn(name, threads=3))[1].items():
        np.testing.assert_array_equal(array, arrays[key])
    other = flatten(learn(name, seed=1))[1]
    assert any(not np.array_equal(other[key], array) for key, array in arrays.items())


def test_damaged_parts_are_refused(signature):
    values = {field.name: getattr(signature, field.name) for field in fields(signature)}
    parts = [name for name, value in values.items() if isinstance(value, Serialisable)]
    changes = [{name: value} for name in parts for value in (None, "none")]
    for change in [*changes, {"regions": 2}]:
        with pytest.raises(InputError):
            replace(signature, **change)
