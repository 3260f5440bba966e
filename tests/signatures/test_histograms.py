"""Histograms of colours and textons against plain loops, and as a signature."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from myriad.descriptors.filter_bank import FilterBank, make_filters
from myriad.errors import InputError
from myriad.pipelines.describing.extract import ExtractOptions
from myriad.pipelines.planning.plan import Job, time_describing
from myriad.signatures import find_signature, learn_histograms
from myriad.signatures.histograms import COLOURS, make_grey
from tests.signatures.crops import crops

BANK = {"step": 9}


def colours(n=6):
    draws = np.random.default_rng(0)
    grey = crops()
    shades = draws.random((n, 3))
    return [(grey[i % len(grey)][:, :, None] * shades[i]).astype(np.uint8) for i in range(n)]


@pytest.fixture(scope="module")
def signature():
    return learn_histograms(colours(), n_words=7, regions=4, threads=1, **BANK)


def test_filters_are_normalised():
    *bands, mean = make_filters()
    assert len(bands) + 1 == FilterBank.dim
    for kernel in bands:
        assert abs(kernel.sum()) < 1e-5
        assert np.abs(kernel).sum() == pytest.approx(1, abs=1e-5)
    assert mean.sum() == pytest.approx(1, abs=1e-5)


def test_responses_are_correlations_at_the_points_of_the_grid():
    bank, image = FilterBank(**BANK), crops()[0]
    scaled = bank.shrink(image)[1]
    found = bank.respond(scaled)
    reach = make_filters()[0].shape[0] // 2
    padded = np.pad(scaled.astype(np.float64) / 255, reach, mode="reflect")
    for i in (0, len(found.values) // 2, len(found.values) - 1):
        x = round(float(found.positions[i, 0]) * scaled.shape[1] - 0.5)
        y = round(float(found.positions[i, 1]) * scaled.shape[0] - 0.5)
        window = padded[y : y + 2 * reach + 1, x : x + 2 * reach + 1]
        expected = [(window * kernel).sum() for kernel in make_filters()]
        np.testing.assert_allclose(found.values[i], expected, atol=1e-5)


def test_an_edge_answers_in_its_own_direction():
    image = np.zeros((64, 64), np.uint8)
    image[32:] = 255
    bank = FilterBank(step=1, scales=1, min_side=16)
    values = bank.respond(image).values.reshape(64, 64, -1)[32, 32]
    edges = np.abs(values[:12:2])
    assert edges.argmax() == 0


def test_counts_agree_with_plain_loops(signature):
    image = colours()[1]
    counter = signature.counter
    rows = []
    thirds = [(0, 1), (0, 1 / 3), (1 / 3, 2 / 3), (2 / 3, 1.01)]  # the image and three stripes
    for scaled in counter.bank.shrink(image):
        height, width = scaled.shape[:2]
        local = counter.bank.respond(cv2.cvtColor(scaled, cv2.COLOR_RGB2GRAY))
        pixels = np.zeros((4, COLOURS))
        for y in range(height):
            for x in range(width):
                r, g, b = (int(value) // 64 for value in scaled[y, x])
                for k, (top, bottom) in enumerate(thirds):
                    pixels[k, 16 * r + 4 * g + b] += top <= (y + 0.5) / height < bottom
        textons = np.zeros((4, 7))
        for value, position in zip(local.values, local.positions, strict=True):
            word = np.square(counter.words.centres - value).sum(axis=1).argmin()
            for k, (top, bottom) in enumerate(thirds):
                textons[k, word] += top <= position[1] < bottom
        rows += [(n / n.sum(axis=1, keepdims=True)).ravel() for n in (pixels, textons)]
    expected = np.concatenate(rows) / (2 * 3 * 4)
    found = counter.count(image)
    assert found.sum() == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_inner_products_are_those_of_the_centred_intersection_kernel(signature):
    rows = np.stack([signature.counter.count(image) for image in colours()])
    kernel = np.minimum(rows[:, None], rows[None]).sum(axis=2).astype(np.float64)
    centre = np.eye(len(rows)) - 1 / len(rows)
    kernel = centre @ kernel @ centre
    kernel /= np.sqrt(np.outer(np.diag(kernel), np.diag(kernel)))
    described = np.stack([signature.describe(image) for image in colours()])
    np.testing.assert_allclose(described @ described.T, kernel, atol=1e-3)


def test_refuses_regions_that_the_pca_does_not_fit(signature):
    with pytest.raises(InputError, match="does not fit"):
        replace(signature, regions=8)


def test_refuses_what_cannot_be_learned_from():
    with pytest.raises(InputError, match="too few for 5000 textons"):
        learn_histograms(colours(2), n_words=5000, threads=1, step=40)
    with pytest.raises(InputError, match="twice"):
        learn_histograms(iter(colours()), n_words=2)
    with pytest.raises(InputError, match="step"):
        FilterBank(step=0)
    assert make_grey(colours()[0]).ndim == 2


@pytest.mark.parametrize("word", ["histograms", "fisher:colour"])
def test_plan_knows_signatures_of_colour_images(word):
    job = Job(images=500, classes=5, pixels=4096, extracting=ExtractOptions(word, components=2))
    signature, _, seconds = time_describing(job)
    assert signature.colour
    assert seconds > 0
    features = find_signature(word).count_features(signature, 500)
    assert features == (499 if word == "histograms" else signature.dim)
