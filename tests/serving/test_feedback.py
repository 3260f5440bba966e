"""The folder of corrected images: content-named files, a manifest, limits."""

import io

import numpy as np
import pytest
from PIL import Image

from myriad.errors import InputError
from myriad.images import read_image
from myriad.images.manifest import list_manifest
from myriad.serving.feedback import Feedback
from myriad.serving.refusal import Refusal
from tests.serving.samples import encode_image


def draw(value):
    return encode_image(np.full((4, 4), value, np.uint8))


def test_images_are_kept_with_their_last_label(tmp_path):
    feedback = Feedback(tmp_path / "kept", limit=2)
    feedback.keep(draw(1), "a, or b")
    feedback.keep(draw(2), "c")
    feedback.keep(draw(1), 'quoted "d"')
    assert len(feedback) == 2
    listed = list_manifest(tmp_path / "kept" / "manifest.csv")
    assert sorted(listed.class_names) == ["c", 'quoted "d"']
    with pytest.raises(Refusal, match="2 images"):
        feedback.keep(draw(3), "c")
    assert len(list((tmp_path / "kept" / "images").iterdir())) == 2
    again = Feedback(tmp_path / "kept", limit=3)
    again.keep(draw(3), "c")
    assert len(again) == 3


@pytest.mark.parametrize(("plugin", "ending"), [("AVIF", "avif"), ("HEIF", "heic")])
def test_images_of_every_format_are_kept(tmp_path, plugin, ending):
    if plugin == "HEIF":
        pytest.importorskip("pillow_heif").register_heif_opener()
    Image.init()
    if plugin not in Image.SAVE:
        pytest.skip("Pillow cannot write this format here")
    stream = io.BytesIO()
    Image.new("RGB", (16, 16)).save(stream, plugin)
    Feedback(tmp_path / "kept", limit=2).keep(stream.getvalue(), "a")
    (path,) = (tmp_path / "kept" / "images").iterdir()
    assert path.suffix == f".{ending}"
    assert read_image(path).shape == (16, 16)


def test_another_folder_or_a_damaged_manifest_is_refused(tmp_path):
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(InputError, match="not a folder of feedback"):
        Feedback(tmp_path, 9)
    (tmp_path / "manifest.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="damaged"):
        Feedback(tmp_path, 9)
    with pytest.raises(InputError, match="not a folder of feedback"):
        Feedback(tmp_path / "photo.jpg", 9)
    Feedback(tmp_path / "new" / "folder", 9)
    Feedback(tmp_path / "new" / "folder", 9)  # nothing was kept in it
