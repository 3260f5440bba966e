"""Further views of training images: which images have them, their groups, and what they show."""

import numpy as np
import pytest

from myriad.images import ImageList, augment_images, take_view
from myriad.images.augmentation import CROP
from myriad.pipelines.describing.options import AUGMENTATIONS, ExtractOptions

SPLITS = np.array(["train", "val", "train", "test", "train"])


def make_list(tmp_path, groups=None):
    labels = np.array([0, 0, 1, 1, 0], np.int32)
    paths = [f"{i}.png" for i in range(5)]
    return ImageList(tmp_path, paths, labels, ["a", "b"], SPLITS, groups)


def test_training_images_alone_have_further_views(tmp_path):
    images = make_list(tmp_path)
    found = augment_images(images, (1,))
    assert found.paths == [*images.paths, "0.png", "2.png", "4.png"]
    assert found.splits.tolist() == [*SPLITS, "train", "train", "train"]
    assert found.views.tolist() == [0] * 5 + [1] * 3
    assert found.labels.tolist() == [0, 0, 1, 1, 0, 0, 1, 0]
    assert augment_images(images, ()) is images
    assert len(augment_images(images, (2, 3, 4, 5))) == 5 + 4 * 3


def test_all_views_of_an_image_have_one_group(tmp_path):
    found = augment_images(make_list(tmp_path), (1,))
    assert found.groups[:5].tolist() == [0, -1, 1, -1, 2]
    assert found.groups[5:].tolist() == [0, 1, 2]
    stated = np.array([7, 7, -1, -1, 3], np.int32)
    found = augment_images(make_list(tmp_path, stated), (1,))
    assert found.groups[:5].tolist() == [7, 7, 8, -1, 3]
    assert found.groups[5:].tolist() == [7, 8, 3]
    assert stated[2] == -1  # the list that was given is as it was


def test_files_know_their_view(tmp_path):
    found = augment_images(make_list(tmp_path), (1,))
    files = found.files([0, 6])
    assert (files.view(0), files.view(1)) == (0, 1)
    assert files.files([1]).view(0) == 1
    assert make_list(tmp_path).files([0]).view(0) == 0


@pytest.mark.parametrize("shape", [(16, 24), (16, 24, 3), (1, 1), (1, 9, 3)])
def test_views(shape):
    image = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert take_view(image, 0) is image
    np.testing.assert_array_equal(take_view(image, 1), image[:, ::-1])
    crops = [take_view(image, view) for view in (2, 3, 4, 5)]
    height, width = max(1, round(CROP * shape[0])), max(1, round(CROP * shape[1]))
    assert {crop.shape for crop in crops} == {(height, width, *shape[2:])}
    np.testing.assert_array_equal(crops[0], image[:height, :width])
    np.testing.assert_array_equal(crops[1], image[:height, -width:])
    np.testing.assert_array_equal(crops[2], image[-height:, :width])
    np.testing.assert_array_equal(crops[3], image[-height:, -width:])
    assert all(crop.flags.c_contiguous for crop in crops)


def test_words():
    assert ExtractOptions(augment="crops").added_views == AUGMENTATIONS["crops"]
    assert "augment" not in ExtractOptions().to_plan()
    assert ExtractOptions(augment="mirror").to_plan()["augment"] == "mirror"
