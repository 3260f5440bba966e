"""`extract` by the cache of rows, and with further views of training images."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from myriad.errors import InputError
from myriad.images import read_image, take_view
from myriad.pipelines.describing import image_rows
from myriad.pipelines.describing.extract import ExtractOptions, extract
from myriad.pipelines.describing.row_cache import FILE, FOLDER
from myriad.pipelines.run import Run
from myriad.progress import Progress
from myriad.signatures.networks.backbone import Backbone
from myriad.store import Store
from tests.pipelines.describing.test_extract import Noted, bytes_of
from tests.robustness.inputs import write_images
from tests.signatures.onnx_files import write_network

KERNEL = np.random.default_rng(0).standard_normal((3, 8))


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images") / "images"
    write_images(folder, ("ant", "bee"), n=12)
    (folder / "ant" / "bad.png").write_bytes(b"")
    return folder


@pytest.fixture
def network(tmp_path):
    write_network(tmp_path / "net.onnx", kernel=KERNEL)
    return f"onnx:{tmp_path / 'net.onnx'}"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


def run(images, out, word, *, threads=1, progress=None, **options):
    asked = ExtractOptions(word, max_bad=0.2, **options)
    progress = progress or Progress()
    return extract(images, out, options=asked, run=Run(threads=threads, progress=progress)).store


def refuse(self, image):
    raise AssertionError("the network ran")


def test_a_second_run_does_not_run_the_network(images, network, cache, tmp_path, monkeypatch):
    plain = run(images, tmp_path / "plain", network, cache=False)
    assert not cache.exists()
    run(images, tmp_path / "first", network)
    assert (cache / FILE).exists()
    with monkeypatch.context() as patch:
        patch.setattr(image_rows._Describing, "__call__", lambda self, number, image: None)
        patch.setattr(Backbone, "describe", refuse)
        again = run(images, tmp_path / "again", network)
        with pytest.raises(AssertionError, match="the network ran"):
            run(images, tmp_path / "other", network, own={"views": 2})
    for name in ("first", "again"):
        assert bytes_of(tmp_path / name) == bytes_of(tmp_path / "plain")
    assert again.n_rows == plain.n_rows == 24
    assert len(again.bad) == 1


@pytest.mark.parametrize("cached", [False, True])
def test_an_image_without_finite_features_is_left_out(
    network, cache, tmp_path, monkeypatch, cached
):
    folder = tmp_path / "images"
    write_images(folder, ("ant", "bee"), n=6)
    Image.new("RGB", (40, 30), "white").save(folder / "ant" / "white.png")
    whole = Backbone._run

    def give_nan_for_white(self, session, image):
        return whole(self, session, image) * (np.nan if np.ptp(image[0, 0]) == 0 else 1)

    monkeypatch.setattr(Backbone, "_run", give_nan_for_white)
    store = run(folder, tmp_path / "store", network, cache=cached)
    assert store.n_rows == 12
    (bad,) = store.bad
    assert bad["path"].endswith("white.png")
    assert "NaN" in bad["reason"]


def test_a_changed_file_is_described_again(network, cache, tmp_path):
    folder = tmp_path / "images"
    write_images(folder, ("ant", "bee"), n=4)
    run(folder, tmp_path / "first", network)
    one, other = sorted((folder / "ant").iterdir())[:2]
    one.write_bytes(other.read_bytes())
    cached = run(folder, tmp_path / "cached", network)
    plain = run(folder, tmp_path / "plain", network, cache=False)
    assert cached.fingerprint == plain.fingerprint


def test_networks_beside_learned_signatures_and_codes_use_it(images, network, cache, tmp_path):
    word = f"{network}+0.5*bov"
    options = {"components": 2, "regions": 1, "step": 24, "codes": "none"}
    plain = run(images, tmp_path / "plain", word, cache=False, **options)
    run(images, tmp_path / "network", network)
    cached = run(images, tmp_path / "cached", word, **options)
    assert cached.fingerprint == plain.fingerprint
    coded = run(images, tmp_path / "coded", network, codes="scalar")
    uncached = run(images, tmp_path / "uncached", network, codes="scalar", cache=False)
    assert coded.code.kind == "scalar"
    assert coded.fingerprint == uncached.fingerprint


def test_worker_processes_share_it(images, network, cache, tmp_path, monkeypatch):
    monkeypatch.setattr(image_rows, "FEWEST", 8)
    first = run(images, tmp_path / "first", network, threads=2)
    size = (cache / FILE).stat().st_size
    again = run(images, tmp_path / "again", network, threads=2)
    assert again.fingerprint == first.fingerprint
    assert (cache / FILE).stat().st_size == size


def test_a_damaged_cache_costs_one_note(images, network, cache, tmp_path):
    cache.mkdir()
    (cache / FILE).write_bytes(b"not a database" * 1000)
    noted = Noted()
    damaged = run(images, tmp_path / "damaged", network, progress=noted)
    plain = run(images, tmp_path / "plain", network, cache=False)
    assert damaged.fingerprint == plain.fingerprint
    assert sum("The cache of rows" in note for note in noted.notes) == 1


def test_augmented_rows_are_of_training_images_and_of_one_group(images, network, tmp_path):
    noted = Noted()
    store = run(images, tmp_path / "mirror", network, augment="mirror", progress=noted)
    counts = {name: int((store.splits == name).sum()) for name in ("train", "val")}
    plain = run(images, tmp_path / "plain", network)
    assert counts["train"] == 2 * int((plain.splits == "train").sum())
    assert counts["val"] == int((plain.splits == "val").sum()) > 0
    assert store.plan["augment"] == "mirror"
    assert len(store.bad) == 1  # a file counts once
    assert noted.notes[-1].startswith("Bad images left out: 1 of 25.")
    rows = store.rows("train")
    paths, groups = np.array(rows.paths), np.asarray(rows.groups)
    for path in np.unique(paths):
        assert len(np.unique(groups[paths == path])) == 1
        assert (groups == groups[paths == path][0]).sum() == 2
    resumed = extract(
        images, tmp_path / "mirror", run=Run(threads=1, resume=True),
        options=ExtractOptions(network, max_bad=0.2, augment="mirror"),
    ).store  # fmt: skip
    assert resumed.fingerprint == store.fingerprint


def test_views_are_described_as_images_of_their_own(tmp_path, network):
    write_images(tmp_path / "images", ("ant", "bee"), n=3)
    store = run(tmp_path / "images", tmp_path / "store", network, augment="crops")
    rows = store.rows("train")
    X = np.concatenate([block.X for block in rows.blocks(64)])
    for path in set(rows.paths):
        image = read_image(Path(path).read_bytes(), colour=True)
        expected = [store.recipe.describe(take_view(image, view)) for view in (0, 2, 3, 4, 5)]
        found = X[np.array(rows.paths) == path]
        np.testing.assert_allclose(np.sort(found, axis=0), np.sort(expected, axis=0), atol=1e-6)


def test_wrong_words_are_refused():
    with pytest.raises(InputError, match="--augment must be one of none, mirror, crops"):
        ExtractOptions(augment="flip")


def test_the_store_opens_as_any_other(images, network, tmp_path):
    run(images, tmp_path / "store", network, augment="mirror")
    assert Store.open(tmp_path / "store").rows("train").groups is not None
