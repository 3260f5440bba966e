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
    "fisher": (myriad.FisherVector(n_components=4, regions=4, pca_dim=16), 4 * 2 * 4 * 16),
    "bov": (myriad.BagOfVisualWords(n_words=20, regions=1), 20),
    "vlad": (myriad.VLAD(n_words=5, regions=1, pca_dim=16), 5 * 16),
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
    with pytest.raises(myriad.BadImage):
        myriad.DenseSIFT().transform([tmp_path / "none.jpg"])


def test_every_public_name_is_there():
    for name in myriad.__all__:
        assert getattr(myriad, name) is not None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = myriad.Nothing
