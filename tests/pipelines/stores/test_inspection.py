"""The anatomy of stores of every kind of row."""

import numpy as np
import pytest
from skimage import data

from myriad.descriptors import DESCRIPTORS
from myriad.pipelines.stores.inspection import MOST_PATCHES, inspect_store
from myriad.signatures import learn_bov, learn_fisher, learn_vlad
from myriad.store import Store
from tests.store.making import begin_store, shard_content

LEARNERS = {"fisher": learn_fisher, "bov": learn_bov, "vlad": learn_vlad}
SMALL = {"pca_dim": 8, "regions": 4, "sample": 2000, "threads": 1}


def crop(number):
    scene = data.astronaut()
    return np.ascontiguousarray(scene[10 * number : 10 * number + 130, :140])


def read_picture(path, *, colour=True, pixels=None):
    number = int(path.removesuffix(".jpg"))
    if number % 5 == 4:
        return None  # it is gone
    image = crop(number)
    return image if colour else image.mean(axis=2).astype(np.uint8)


def make_store(folder, kind="fisher", descriptor="sift", n=20):
    part = DESCRIPTORS[descriptor].make(scales=2, step=12)
    images = [read_picture(f"{i}.jpg", colour=part.colour) for i in range(4)]
    size = {"n_components": 5} if kind == "fisher" else {"n_words": 5}
    signature = LEARNERS[kind](images, descriptor=part, **size, **SMALL)
    writer = Store.create(
        folder, class_names=["a", "b"], dim=signature.dim, n_shards=1, recipe=signature
    )
    rows = np.stack([signature.describe(images[i % 4] + np.uint8(i)) for i in range(n)])
    paths = [f"{i}.jpg" for i in range(n)]
    writer.write_shard(0, rows, np.arange(n) % 2, paths, ["train"] * n, [])
    writer.finish()
    return Store.open(folder)


@pytest.mark.parametrize(
    ("kind", "descriptor"), [("fisher", "sift"), ("vlad", "colour"), ("bov", "sift+colour")]
)
def test_what_a_store_is_made_of(tmp_path, kind, descriptor):
    store = make_store(tmp_path / "s", kind, descriptor)
    found = inspect_store(store, read_picture=read_picture)
    assert (found.title, found.n_rows, found.n_classes, found.dim) == ("s", 20, 2, store.dim)
    assert found.pca.dim == 8
    assert (found.mixture_weights is None) == (kind != "fisher")
    assert found.values.before is not None
    word = {"fisher": ["of the same Gaussian"], "vlad": ["of the same word"], "bov": []}[kind]
    assert list(found.correlations) == ["any two", "of the same region", *word]
    assert len(found.patches) == MOST_PATCHES
    for patch in found.patches:
        assert patch.picture.ndim == 3
        assert min(patch.picture.shape[:2]) >= 12
        assert (patch.gradients is None) == (descriptor == "colour")
        assert (patch.colours is None) == (descriptor == "sift")
        if patch.colours is not None:
            cells = patch.colours.reshape(16, 2, 3)
            mean = patch.picture.reshape(-1, 3).mean(axis=0) / 255
            np.testing.assert_allclose(cells[:, 0].mean(axis=0), mean, atol=0.05)
    assert found.settings["signature"]["kind"] == kind


def test_is_the_same_for_a_seed(tmp_path):
    store = make_store(tmp_path / "s")
    one, two = (inspect_store(store, read_picture=read_picture, seed=3) for _ in range(2))
    other = inspect_store(store, read_picture=read_picture, seed=4)
    for a, b in zip(one.patches, two.patches, strict=True):
        np.testing.assert_array_equal(a.gradients, b.gradients)
    assert not np.array_equal(one.patches[0].gradients, other.patches[0].gradients)
    np.testing.assert_array_equal(one.values.after[1], two.values.after[1])


def test_images_that_are_gone_leave_the_rest(tmp_path):
    found = inspect_store(make_store(tmp_path / "s"), read_picture=lambda *_, **__: None)
    assert found.patches == ()
    assert found.values is not None


@pytest.mark.parametrize("kind", ["float32", "float16", "pq", "scalar"])
def test_rows_of_another_origin(tmp_path, kind):
    writer = begin_store(tmp_path / "s", 2, kind=kind)
    for number in range(2):
        writer.write_shard(number, **shard_content(number))
    writer.finish()
    found = inspect_store(Store.open(tmp_path / "s"), read_picture=read_picture)
    assert found.patches == ()
    assert found.pca is None
    assert found.values.before is None
    assert list(found.correlations) == ["any two"]
    assert found.coded == (kind in ("pq", "scalar"))
    assert len(found.bad) == 1


def test_a_store_of_one_row_has_nothing_to_compare(tmp_path):
    found = inspect_store(make_store(tmp_path / "s", n=1), read_picture=read_picture)
    assert found.values is None
    assert found.correlations == {}
    assert len(found.patches) == 1
