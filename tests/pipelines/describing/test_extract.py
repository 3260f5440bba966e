"""Images to a store: the same bytes whoever does the work, and what is said of bad images."""

import os
import shutil
import zipfile
from dataclasses import replace

import pytest

from myriad.errors import InputError, WorkError
from myriad.images import find_images
from myriad.parallel import open_cluster, open_processes
from myriad.pipelines.describing import image_rows
from myriad.pipelines.describing.extract import ExtractOptions, extract, open_given_store
from myriad.pipelines.describing.image_rows import BadImages, describe_images
from myriad.pipelines.describing.options import make_extract_options
from myriad.pipelines.describing.shard_writing import ShardWriting
from myriad.pipelines.run import Run
from myriad.pipelines.training.train import train
from myriad.progress import Progress
from myriad.store import Store
from tests.pipelines.spreading import DeadlyMapper
from tests.robustness.inputs import write_images
from tests.signatures.onnx_files import write_network
from tests.store.making import write_store

OPTIONS = ExtractOptions(components=1, regions=8, step=12, max_bad=0.1)


class Noted(Progress):
    def __init__(self):
        self.notes = []

    def note(self, sentence):
        self.notes.append(sentence)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Return a folder of 162 images, two of them bad; enough for codes."""
    folder = tmp_path_factory.mktemp("images") / "images"
    write_images(folder, ("ant", "bee", "cow", "dog"), n=40)
    (folder / "ant" / "bad.png").write_bytes(b"")
    (folder / "cow" / "text.jpg").write_bytes(b"Dear Sir or Madam")
    return folder


@pytest.fixture
def many(monkeypatch):
    """Let few images count as many, so that they are described by worker processes."""
    monkeypatch.setattr(image_rows, "FEWEST", 8)


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.usefixtures("many")
def test_the_bytes_do_not_depend_on_the_workers(images, tmp_path):
    noted = Noted()
    one = extract(images, tmp_path / "1", options=OPTIONS, run=Run(threads=1, progress=noted)).store
    assert one.code is not None
    assert (one.n_rows, len(one.bad)) == (160, 2)
    assert noted.notes[-1].startswith("Bad images left out: 2 of 162. ")
    assert f"empty file ({images}" in noted.notes[-1]
    extract(images, tmp_path / "3", options=OPTIONS, run=Run(threads=3))
    assert bytes_of(tmp_path / "3") == bytes_of(tmp_path / "1")


def test_images_that_the_code_is_learned_from_are_described_once(images, tmp_path, monkeypatch):
    described, describe = [], image_rows.describe_one

    def count(image, *options):
        described.append(image.shape)
        return describe(image, *options)

    monkeypatch.setattr(image_rows, "describe_one", count)
    store = extract(images, tmp_path / "store", options=OPTIONS, run=Run(threads=1)).store
    warm_ups = described.count((64, 64))
    assert warm_ups == 2
    assert len(described) - warm_ups == store.n_rows


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_cluster_writes_the_same_bytes(images, tmp_path, tmp_path_factory, monkeypatch):
    pytest.importorskip("distributed")
    mark = tmp_path_factory.mktemp("marks") / "killed"
    monkeypatch.chdir(images.parent)
    monkeypatch.setattr("myriad.vocabularies.blocks.BLOCK", 6000)
    monkeypatch.setattr("myriad.vocabularies.kmeans._MIN_REMOTE_WORK", 0)
    data = find_images(images).root.relative_to(images.parent)
    with open_cluster("local:2") as executor:
        deadly = DeadlyMapper(executor)
        for signature in ("fisher", "bov"):
            options = replace(OPTIONS, signature=signature, components=2)
            extract(data, tmp_path / "here", options=options, run=Run(threads=1))
            if signature == "fisher":
                deadly.arm(mark, ShardWriting)
            extract(data, tmp_path / "cluster", options=options, run=Run(threads=1, cluster=deadly))
            assert sorted(path.name for path in tmp_path.iterdir()) == ["cluster", "here"]
            assert bytes_of(tmp_path / "cluster") == bytes_of(tmp_path / "here")
            for name in ("here", "cluster"):
                shutil.rmtree(tmp_path / name)
        assert mark.exists()


@pytest.mark.usefixtures("many")
def test_archives_are_read_by_workers_too(images, tmp_path):
    packed = shutil.make_archive(str(tmp_path / "images"), "zip", images)
    assert len(zipfile.ZipFile(packed).namelist()) >= 162
    extract(tmp_path / "images.zip", tmp_path / "archive", options=OPTIONS, run=Run(threads=2))
    assert len(list((tmp_path / "archive").glob("shard*"))) > 1
    assert Store.open(tmp_path / "archive").n_rows == 160


class Deadly:
    """A signature whose first use in a worker ends the process; each later one is well."""

    colour, pixels = False, None

    def __init__(self, mark, parent):
        self.mark, self.parent = mark, parent

    def describe(self, image):
        if os.getpid() != self.parent and not os.path.exists(self.mark):
            os.mkdir(self.mark)
            os._exit(9)
        return image[:2, 0]


def test_images_of_a_worker_that_died_are_described_again(images, tmp_path):
    found = find_images(images)
    signature = Deadly(str(tmp_path / "mark"), os.getpid())
    with open_processes(2) as executor:
        rows = list(describe_images(found, range(len(found)), signature, executor))
    assert (tmp_path / "mark").exists()
    assert [i for i, _ in rows] == list(range(162))
    assert sum(isinstance(row, image_rows.BadImage) for _, row in rows) == 2


def test_the_summary_counts_reasons_and_keeps_short():
    bad = BadImages(100, 0.5)
    for n in range(7):
        for i in range(7 - n):
            bad.add(f"{n}-{i}.png", f"reason {n}")
    sentence = bad.summarise()
    assert sentence.startswith("Bad images left out: 28 of 100. reason 0 (7, the first 0-0.png); ")
    assert sentence.endswith("reason 4 (3, the first 4-0.png); other reasons (3).")


def test_one_bad_image_is_named_in_the_singular():
    bad = BadImages(21, 0.0)
    with pytest.raises(WorkError, match=r"1 of 21 images is bad, more than the 0 %"):
        bad.add("a/cut.jpg", "truncated JPEG")
    assert bad.summarise() == "Bad images left out: 1 of 21. truncated JPEG (a/cut.jpg)."


@pytest.mark.usefixtures("many")
def test_too_many_bad_images_stop_the_workers(images, tmp_path):
    options = ExtractOptions(components=1, regions=8, step=12, max_bad=0.01)
    with pytest.raises(WorkError, match="2 of 162 images are bad, more than the 1 %"):
        extract(images, tmp_path / "s", options=options, run=Run(threads=2))


def test_training_without_training_images_is_refused_before_they_are_described(tmp_path):
    """A network learns nothing from them, so that a store of them alone can be made."""
    write_images(tmp_path / "images" / "val", n=2)
    write_network(tmp_path / "net.onnx")
    options = ExtractOptions(signature=f"onnx:{tmp_path / 'net.onnx'}", codes="none")
    with pytest.raises(InputError, match="images has no training images"):
        train(tmp_path / "images", tmp_path / "model", extracting=options, run=Run(threads=1))
    assert not (tmp_path / "model.store").exists()
    extracted = extract(
        tmp_path / "images", tmp_path / "store", options=options, run=Run(threads=1)
    )
    assert set(extracted.store.splits) == {"val"}


def test_images_without_labels_are_described(tmp_path):
    write_images(tmp_path / "images" / "a", n=2)
    write_network(tmp_path / "net.onnx")
    options = ExtractOptions(signature=f"onnx:{tmp_path / 'net.onnx'}", codes="none")
    folder = tmp_path / "images" / "a" / "ant"
    store = extract(folder, tmp_path / "store", options=options, run=Run(threads=1)).store
    assert (store.n_rows, store.class_names, set(store.splits)) == (2, [], {"train"})
    with pytest.raises(InputError, match="at least two classes"):
        train(tmp_path / "store", tmp_path / "model", run=Run(threads=1))


def test_options_of_images_that_have_no_effect_on_a_store_are_named(tmp_path):
    write_store(tmp_path / "s")
    noted = Noted()
    for given in ({}, {"signature": "bov", "map": "chi2", "max_bad": 0.5, "cache": False}):
        open_given_store(tmp_path / "s", make_extract_options(given), noted)
    (note,) = noted.notes
    assert set(note.rstrip(".").partition("effect: ")[2].split(", ")) == {
        "--signature",
        "--map",
        "--max-bad",
        "--cache",
    }
