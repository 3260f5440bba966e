"""Learning a signature from a stream of images."""

import cv2
import numpy as np
import pytest
from skimage import data

from myriad.descriptors import DESCRIPTORS, DenseSIFT
from myriad.errors import InputError
from myriad.progress import Progress
from myriad.serialisation import flatten
from myriad.signatures import learn_fisher

SMALL = {"n_components": 8, "pca_dim": 12, "regions": 1, "descriptor": DenseSIFT(scales=2)}


def crops(count=6):
    scene = cv2.cvtColor(data.astronaut(), cv2.COLOR_RGB2GRAY)
    return [scene[20 * i : 20 * i + 130, 30 * i : 30 * i + 140] for i in range(count)]


def test_learns_from_any_iterable_and_describes():
    signature = learn_fisher((image for image in crops()), sample=3000, **SMALL)
    assert signature.dim == 2 * 8 * (12 + 2)
    first, last = signature.describe(crops()[0]), signature.describe(crops()[-1])
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-4)
    assert first @ last < 0.95


def test_is_the_same_on_any_number_of_threads_and_differs_by_seed():
    one = flatten(learn_fisher(crops(), sample=1500, threads=1, seed=3, **SMALL))[1]
    three = flatten(learn_fisher(crops(), sample=1500, threads=3, seed=3, **SMALL))[1]
    other = flatten(learn_fisher(crops(), sample=1500, threads=3, seed=4, **SMALL))[1]
    for name, array in one.items():
        np.testing.assert_array_equal(three[name], array)
    assert not np.array_equal(one["pca.mean"], other["pca.mean"])


def test_learns_from_constant_images():
    images = [np.full((130, 130), 40 * i, np.uint8) for i in range(3)]
    signature = learn_fisher(images, sample=1000, **SMALL)
    assert np.isfinite(signature.describe(crops()[0])).all()
    assert np.isfinite(signature.describe(images[0])).all()


def test_whitened_descriptors_have_variance_one():
    signature = learn_fisher(crops(), sample=3000, whiten=True, **SMALL)
    assert signature.pca.whiten
    local = signature.descriptor.describe(crops()[2])
    deviations = signature.pca.project(local.values).std(axis=0)
    assert 0.5 < deviations.min() < deviations.max() < 2


@pytest.mark.parametrize("name", ["colour", "sift+colour"])
def test_learns_from_colour(name):
    images = [data.astronaut()[20 * i : 20 * i + 130, :140] for i in range(4)]
    descriptor = DESCRIPTORS[name].make(scales=1)
    signature = learn_fisher(images, n_components=4, regions=1, descriptor=descriptor)
    assert signature.colour
    assert signature.dim == 2 * 4 * descriptor.pca_dim == 8 * (128 if "+" in name else 64)
    recoloured = images[0][:, :, [1, 2, 0]]
    assert signature.describe(images[0]) @ signature.describe(recoloured) < 0.95


def test_tells_how_far_it_is():
    class Recording(Progress):
        def __init__(self):
            self.titles = []

        def step(self, title, total=None, unit=""):
            self.titles.append((title, total))
            return super().step(title, total, unit)

    recording = Recording()
    learn_fisher(crops(3), sample=1000, progress=recording, **SMALL)
    assert recording.titles == [
        ("Sampling descriptors", 3),
        ("Learning the Gaussian mixture", 15),
    ]


def test_refuses_too_few_descriptors():
    with pytest.raises(InputError, match="no descriptors"):
        learn_fisher([], **SMALL)
    with pytest.raises(InputError, match="smaller vocabulary"):
        learn_fisher(crops(1), **(SMALL | {"n_components": 5000}))


def test_refuses_bad_options_before_looking_at_images():
    def images():
        raise AssertionError("looked at")
        yield

    for options in ({"regions": 3}, {"pca_dim": 200}, {"n_components": 0}, {"sample": 0}):
        with pytest.raises(InputError):
            learn_fisher(images(), **(SMALL | options))
