"""Several signatures side by side: blocks, weights, words and files."""

import numpy as np
import pytest

from myriad.descriptors import ImageCollection
from myriad.errors import InputError
from myriad.parallel import LearningContext
from myriad.serialisation import flatten, restore
from myriad.signatures import CombinedSignature, SignatureOptions
from myriad.signatures.registry import FISHER, NETWORK, split_word

RNG = np.random.default_rng(3)
GREY = [RNG.integers(0, 256, (60, 70), dtype=np.uint8) for _ in range(3)]
COLOUR = [RNG.integers(0, 256, (60, 70, 3), dtype=np.uint8) for _ in range(3)]


class Both(ImageCollection):
    """Images that are grey or in colour, as the descriptor takes them."""

    def __len__(self):
        return len(COLOUR)

    def map(self, function, *, colour):
        for number, image in enumerate(COLOUR if colour else GREY):
            yield function(number, image)


COLOUR_AND_GREY = Both()


def learn(word, images, **options):
    asked = SignatureOptions(word, components=2, regions=1, step=12, **options)
    return asked.spec.learn(images, asked, LearningContext(threads=1))


def test_a_row_is_the_weighted_rows_of_the_parts_side_by_side():
    both = learn("bov+2*vlad", GREY)
    first, second = (learn(word, GREY) for word in ("bov", "vlad"))
    row = both.describe(GREY[0])
    assert both.dim == first.dim + second.dim == len(row)
    expected = np.concatenate([first.describe(GREY[0]), 2 * second.describe(GREY[0])]) / np.sqrt(5)
    np.testing.assert_allclose(row, expected, atol=1e-6)
    assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)
    assert [row[block].size for block in both.blocks] == [first.dim, second.dim]


def test_parts_take_images_as_they_need_them():
    colour = SignatureOptions("vlad", components=2, regions=1, step=12, descriptor="colour")
    vlad = colour.spec.learn(COLOUR, colour, LearningContext(threads=1))
    bov = learn("bov", GREY)
    both = CombinedSignature((vlad, bov), (1.0, 1.0), ("vlad", "bov"))
    assert both.colour
    assert both.describe(COLOUR[0]).shape == (both.dim,)
    with pytest.raises(InputError, match="height, width, 3"):
        both.describe(GREY[0])


def test_a_part_names_its_own_descriptor():
    both = learn("fisher+0.5*fisher:colour", COLOUR_AND_GREY)
    sift, colour = both.parts
    assert (sift.descriptor.kind, colour.descriptor.kind) == ("dense-sift", "local-colour")
    assert both.colour
    assert both.weights == (1.0, 0.5)
    alone = SignatureOptions("fisher:sift+colour")
    assert alone.described_by == "sift+colour"
    assert split_word("bov:sift+colour+2*vlad:colour") == [
        ("bov:sift+colour", 1.0),
        ("vlad:colour", 2.0),
    ]


def test_it_is_restored_from_settings_and_arrays():
    both = learn("bov+vlad", GREY)
    again = restore(*flatten(both))
    assert again.names == ("bov", "vlad")
    np.testing.assert_array_equal(again.describe(GREY[1]), both.describe(GREY[1]))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": (1.0, 0.0)}, "above 0"),
        ({"weights": (1.0,)}, "a weight and a name"),
        ({"parts": ()}, "two signatures or more"),
    ],
)
def test_damaged_settings_are_refused(change, words):
    both = learn("bov+vlad", GREY)
    fields = {"parts": both.parts, "weights": both.weights, "names": both.names} | change
    with pytest.raises(InputError, match=words):
        CombinedSignature(**fields)


def test_words():
    assert split_word("fisher") == [("fisher", 1.0)]
    assert split_word("onnx:a+b.onnx+0.5*fisher") == [("onnx:a+b.onnx", 1.0), ("fisher", 0.5)]
    assert split_word("bov+vlad+bov") == [("bov", 1.0), ("vlad", 1.0), ("bov", 1.0)]


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("fisher+", "--signature must be one of auto, fisher"),
        ("fisher+surf", "--signature must be one of auto, fisher"),
        ("fisher+0*bov", "a weight must be auto, or a number above 0"),
        ("fisher+two*bov", "a weight must be auto, or a number above 0"),
        ("2*fisher", "a weight needs a second signature"),
        ("auto+fisher", "auto cannot be combined"),
        ("fisher:surf", "the descriptor must be one of sift, colour"),
        ("fisher+fisher:", "the descriptor must be one of sift, colour"),
        ("efficientnet-lite0:sift", "--signature must be one of auto, fisher"),
    ],
)
def test_wrong_words_are_refused(word, words):
    with pytest.raises(InputError, match=words):
        SignatureOptions(word)


def test_auto_tries_what_has_the_stated_options():
    assert SignatureOptions().candidates == (NETWORK, FISHER, f"{NETWORK}+{FISHER}")
    assert SignatureOptions(regions=8).candidates == (FISHER,)
    assert SignatureOptions(own={"views": 2}).candidates == (NETWORK,)
    assert SignatureOptions(step=4, own={"views": 2}).candidates == (f"{NETWORK}+{FISHER}",)
    with pytest.raises(InputError, match="--soft: say which --signature"):
        SignatureOptions(own={"soft": True})


def test_options_of_other_signatures_are_refused():
    with pytest.raises(InputError, match="--soft belongs to --signature bov, not to fisher"):
        SignatureOptions("fisher", own={"soft": True})
    with pytest.raises(InputError, match="has no vocabulary"):
        SignatureOptions(NETWORK, components=4)
