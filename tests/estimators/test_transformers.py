"""Signatures and quantisers through their public doors, up to a whole scikit-learn pipeline."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import myriad
from myriad.images import choose_glyphs, draw_glyph

GLYPHS = choose_glyphs(12)


def draw(numbers, labels=range(4)):
    pairs = [(label, number) for label in labels for number in numbers]
    images = [draw_glyph(GLYPHS, label, number, seed=0) for label, number in pairs]
    return images, np.array([GLYPHS.class_names[label] for label, _ in pairs])


SIGNATURES = {
    "fisher": (myriad.FisherVector(n_components=4, regions=4, pca_dim=16), 4 * 2 * 4 * (16 + 2)),
    "fisher, no coordinates": (
        myriad.FisherVector(n_components=4, regions=1, pca_dim=16, coordinates=False),
        2 * 4 * 16,
    ),
    "bov": (myriad.BagOfVisualWords(n_words=20, regions=1), 20),
    "vlad": (myriad.VLAD(n_words=5, regions=1, pca_dim=16), 5 * 16),
    "fisher, all options": (
        myriad.FisherVector(
            n_components=4, weights=True, whiten=True, regions=1, descriptor="sift+colour"
        ),
        4 + 2 * 4 * 128,
    ),
    "bov, all options": (
        myriad.BagOfVisualWords(
            n_words=20, soft=True, map="chi2", regions=1, descriptor=myriad.LocalColour(step=9)
        ),
        20 * 3,
    ),
    "bov, kernel PCA": (
        myriad.BagOfVisualWords(n_words=20, map="intersection-pca", regions=4, pca_dim=16),
        11,
    ),
    "vlad, all options": (
        myriad.VLAD(n_words=5, within=True, regions=1, descriptor="colour", whiten=True),
        5 * 64,
    ),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature_contract(name):
    signature, dim = SIGNATURES[name]
    images, _ = draw(range(3))
    with pytest.raises(NotFittedError):
        clone(signature).transform(images)
    rows = clone(signature).fit(images).transform(images)
    assert rows.shape == (len(images), dim)
    assert rows.dtype == np.float32
    assert np.isfinite(rows).all()
    again = clone(signature).set_params(threads=1).fit(images).transform(images)
    assert rows.tobytes() == again.tobytes()
    assert clone(signature).fit(images).transform([]).shape == (0, dim)


def test_colour_is_made_grey_as_readers_do(tmp_path):
    import cv2

    colour = np.random.default_rng(0).integers(0, 256, (150, 140, 3), dtype=np.uint8)
    path = tmp_path / "a.png"
    cv2.imwrite(str(path), colour[:, :, ::-1])
    by_array, by_file = myriad.DenseSIFT().transform([colour, path])
    np.testing.assert_allclose(by_array, by_file, atol=0.02)


def test_local_descriptors_and_their_options():
    images, _ = draw([0])
    colours = myriad.LocalColour(step=12, scales=2).transform(images[:1])[0]
    plain = myriad.DenseSIFT(step=12, scales=2).transform(images[:1])[0]
    assert colours.shape == (len(plain), 96)
    assert plain.shape == (len(plain), 128)
    for option in ({"window": "flat"}, {"contrast": 0.1}, {"smoothing": 0.5}, {"root": True}):
        other = myriad.DenseSIFT(step=12, scales=2, **option).transform(images[:1])[0]
        assert not np.array_equal(other, plain)


@pytest.mark.parametrize("descriptor", ["surf", None, 3])
def test_an_unknown_descriptor_is_named(descriptor):
    with pytest.raises(myriad.InputError, match="sift, colour, sift\\+colour"):
        myriad.FisherVector(descriptor=descriptor).fit(draw([0])[0])


def test_an_iterator_of_images_is_read_once():
    images, _ = draw(range(2))
    small = {"n_words": 6, "regions": 1, "pca_dim": 8}
    once = myriad.BagOfVisualWords(**small).fit(iter(images))
    again = myriad.BagOfVisualWords(**small).fit(images)
    np.testing.assert_array_equal(once.transform(images), again.transform(images))
    with pytest.raises(myriad.InputError, match="twice"):
        myriad.BagOfVisualWords(map="intersection-pca", **small).fit(iter(images))


def test_images_to_labels_in_one_pipeline():
    images, labels = draw(range(12))
    steps = make_pipeline(
        myriad.FisherVector(n_components=8, regions=1), myriad.LinearSGD(eta=0.5, beta="all")
    ).fit(images, labels)
    fresh, truth = draw(range(100, 104))
    assert steps.score(fresh, truth) > 0.8


@pytest.mark.parametrize(
    "image", [3, np.zeros((4, 4)), np.zeros((4, 4, 2), np.uint8), np.zeros(4, np.uint8)]
)
def test_what_is_no_image_is_named(image):
    with pytest.raises(myriad.InputError, match="Image 0"):
        myriad.DenseSIFT().transform([image])


def test_a_missing_file_is_a_bad_image(tmp_path):
    with pytest.raises(myriad.BadImage, match=r"none\.jpg: ") as caught:
        myriad.DenseSIFT().transform([tmp_path / "none.jpg"])
    assert "none.jpg" not in caught.value.reason


def test_every_public_name_is_there():
    for name in myriad.__all__:
        assert getattr(myriad, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = myriad.Nothing
