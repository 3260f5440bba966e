"""`--signature auto`: the sample, the comparison and what is kept of it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from myriad.errors import InputError
from myriad.images import ImageList, choose_glyphs, find_images, split_images, write_glyphs
from myriad.parallel import LearningContext, open_local
from myriad.pipelines.describing import signature_choice
from myriad.pipelines.describing.extract import extract
from myriad.pipelines.describing.options import ExtractOptions
from myriad.pipelines.describing.signature_choice import (
    FEWEST,
    MOST,
    Candidate,
    choose_best,
    choose_signature,
    combine_columns,
    compare_signatures,
    count_compared,
    draw_sample,
)
from myriad.pipelines.run import Run
from myriad.signatures.networks.efficientnet import LITES
from myriad.signatures.registry import FISHER, NETWORK
from myriad.store import ArrayRows

BOTH = f"{NETWORK}+{FISHER}"


def make_list(tmp_path, counts):
    labels = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
    paths = [f"{i}.png" for i in range(len(labels))]
    names = [f"c{c:03}" for c in range(len(counts))]
    return ImageList(tmp_path, paths, labels, names, np.full(len(labels), "train"))


def test_the_sample_is_bounded_and_balanced(tmp_path):
    assert count_compared(100) == 100
    assert count_compared(1000) == FEWEST
    assert count_compared(10**6) == MOST
    images = make_list(tmp_path, [40] * 100)
    sample = draw_sample(images, seed=0)
    counts = np.bincount(images.labels[sample])
    counts = counts[counts > 0]
    assert len(np.unique(sample)) == len(sample) == 500
    assert counts.min() >= 7
    assert np.ptp(counts) <= 1
    np.testing.assert_array_equal(sample, draw_sample(images, seed=0))
    assert not np.array_equal(sample, draw_sample(images, seed=1))


def test_classes_of_one_image_are_left_out(tmp_path):
    images = make_list(tmp_path, [1] * 50 + [30] * 4)
    assert images.labels[draw_sample(images, seed=0)].min() == 50


def candidate(word, correct):
    correct = np.array(correct, bool)
    return Candidate(word, "accuracy", 100 * correct.mean(), 1.0, correct)


def test_the_cheaper_one_is_preferred_within_the_error():
    worse, better = [1] * 90 + [0] * 10, [0] * 5 + [1] * 93 + [0] * 2
    assert choose_best([candidate(NETWORK, worse), candidate(BOTH, better)]) == NETWORK
    best = [1] * 99 + [0]
    assert choose_best([candidate(NETWORK, worse), candidate(BOTH, best)]) == BOTH
    assert choose_best([candidate(NETWORK, best), candidate(FISHER, worse)]) == NETWORK


def test_columns_are_scaled_to_norm_one():
    X = np.array([[3, 4, 0, 1], [0, 0, 0, 5]], np.float32)
    found = combine_columns(X, [(slice(0, 2), 1.0)])
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]], rtol=1e-6)
    both = combine_columns(X, [(slice(0, 2), 1.0), (slice(2, 4), 0.5)])
    scaled = np.array([[0.6, 0.8, 0, 0.5], [0, 0, 0, 0.5]])
    np.testing.assert_allclose(both, scaled / np.linalg.norm(scaled, axis=1)[:, None], rtol=1e-6)


def test_images_of_one_group_cannot_be_compared():
    X = np.random.default_rng(0).standard_normal((60, 4)).astype(np.float32)
    signature = SimpleNamespace(names=("bov", "vlad"), blocks=(slice(0, 2), slice(2, 4)))
    for groups in (np.zeros(60, int), np.arange(60) % 2):
        rows = ArrayRows(X, np.arange(60) % 2, groups=groups)
        assert compare_signatures(signature, rows, ("bov", "vlad"), LearningContext()) == []


def test_damaged_weights_are_found_before_a_store_is_made(characters, tmp_path, monkeypatch):
    name = "efficientnet-lite0"
    monkeypatch.setitem(LITES, name, replace(LITES[name], sha256="0" * 64))
    with pytest.raises(InputError, match="damaged or of another version"):
        extract(characters, tmp_path / "store", run=Run(threads=1))
    assert not (tmp_path / "store").exists()


def test_a_weight_left_open_is_chosen(characters, tmp_path):
    word = "efficientnet-lite0+auto*efficientnet-lite2"
    options = ExtractOptions(signature=word)
    assert options.is_open
    tried = tuple(word.replace("auto*", text) for text in ("0.5*", "0.25*", ""))
    assert options.candidates == tried
    with pytest.raises(InputError, match="at most 2 weights"):
        ExtractOptions(signature="bov+auto*vlad+auto*fisher+auto*fisher:colour")
    with pytest.raises(InputError, match="a weight must be auto, or a number"):
        ExtractOptions(signature="bov+half*vlad")
    options = ExtractOptions(signature="bov+auto*bov:colour", components=4, regions=1, step=8)
    store = extract(characters, tmp_path / "store", options=options, run=Run(threads=1)).store
    names = [item["signature"] for item in store.plan["choice"]["candidates"]]
    assert names == ["bov+0.5*bov:colour", "bov+0.25*bov:colour", "bov+bov:colour"]
    assert store.plan["signature"] in names


def test_what_needs_no_comparison(tmp_path):
    images = make_list(tmp_path, [5, 5])
    with open_local(1) as executor:
        found = choose_signature(images, ExtractOptions(), executor, LearningContext())
        assert found.options.signature == NETWORK
        assert "too few images" in found.facts["sentence"]
        stated = ExtractOptions(components=4)
        found = choose_signature(images, stated, executor, LearningContext())
        assert (found.options.signature, found.options.components) == (FISHER, 4)
        assert "--components" in found.facts["sentence"]
        fixed = ExtractOptions("bov")
        assert choose_signature(images, fixed, executor, LearningContext()).options is fixed
        before = {"signature": FISHER, "choice": {"sentence": "as before"}}
        found = choose_signature(
            images, ExtractOptions(), executor, LearningContext(), before=before
        )
        assert (found.options.signature, found.facts) == (FISHER, before["choice"])


def test_images_without_contrast_are_described_by_the_network(tmp_path, monkeypatch):
    for name in ("ant", "bee"):
        (tmp_path / name).mkdir()
        for i in range(3):
            Image.new("L", (40, 40), 9 * i).save(tmp_path / name / f"{i}.png")
    images = find_images(tmp_path)
    images = replace(images, splits=np.full(len(images), "train"))
    monkeypatch.setattr(signature_choice, "TOO_FEW", 2)
    with open_local(1) as executor:
        found = choose_signature(images, ExtractOptions(), executor, LearningContext(threads=1))
        assert found.options.signature == NETWORK
        assert "too little contrast" in found.facts["sentence"]
        stated = ExtractOptions("bov+auto*vlad")
        with pytest.raises(InputError, match="gave no descriptors"):
            choose_signature(images, stated, executor, LearningContext(threads=1))


@pytest.fixture(scope="module")
def characters(tmp_path_factory):
    folder = tmp_path_factory.mktemp("characters") / "images"
    write_glyphs(folder, choose_glyphs(10, seed=0), images=12, seed=0)
    return folder


def test_all_candidates_are_compared_and_kept_in_the_store(characters, tmp_path):
    store = extract(characters, tmp_path / "store", run=Run(seed=0, threads=1)).store
    choice = store.plan["choice"]
    assert [item["signature"] for item in choice["candidates"]] == [NETWORK, FISHER, BOTH]
    assert store.plan["signature"] in (NETWORK, FISHER, BOTH)
    known = split_images(find_images(characters), seed=0)
    assert choice["images"] == int((known.splits == "train").sum())
    assert choice["sentence"].startswith("network ")
    again = extract(characters, tmp_path / "store", run=Run(seed=0, threads=1, resume=True)).store
    assert again.fingerprint == store.fingerprint


def test_several_signatures_have_codes_of_their_own(characters, tmp_path):
    word = "efficientnet-lite0+fisher"
    options = ExtractOptions(word, components=1, regions=8, step=16, codes="scalar")
    store = extract(characters, tmp_path / "scalar", options=options, run=Run(threads=1)).store
    assert [code.kind for code in store.code.codes] == ["scalar", "scalar"]
    assert store.dim == store.recipe.dim == 1904 + 1024
    plain = ExtractOptions(word, components=1, regions=8, step=16, codes="none")
    assert (
        extract(characters, tmp_path / "none", options=plain, run=Run(threads=1)).store.code is None
    )
