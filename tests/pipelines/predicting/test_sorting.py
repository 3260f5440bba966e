"""Images sorted into folders by label: links, copies, names that clash, labels that lead away."""

import os

import pytest

from myriad.errors import InputError
from myriad.pipelines.predicting.sorting import check_sorting, name_folders, sort_images
from tests.images.test_video import write_video


def predict(path, label, **more):
    return {"path": str(path), "labels": [{"label": label, "score": 1.0}], **more}


@pytest.fixture
def images(tmp_path):
    found = []
    for name in ("one/a.jpg", "two/a.jpg", "two/b.jpg"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
        found.append(path)
    return found


@pytest.mark.parametrize("copy", [False, True])
def test_images_are_sorted(tmp_path, images, copy):
    out = tmp_path / "sorted"
    predictions = [predict(path, "cat") for path in images[:2]]
    predictions.append(predict(images[2], "dog", unknown=True))
    for _ in range(2):  # a second time adds nothing
        assert sort_images(predictions, out, ["cat", "dog"], copy=copy) == {"cat": 2, "unknown": 1}
    found = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert found == ["cat/a-2.jpg", "cat/a.jpg", "unknown/b.jpg"]
    assert (out / "cat" / "a-2.jpg").read_text() == "two/a.jpg"
    assert (out / "cat" / "a.jpg").is_symlink() != copy


@pytest.mark.parametrize("copy", [False, True])
def test_images_of_the_same_content_are_all_sorted(tmp_path, images, copy):
    images[1].write_bytes(images[0].read_bytes())
    for _ in range(2):
        sort_images(
            [predict(path, "cat") for path in images[:2]], tmp_path / "out", ["cat"], copy=copy
        )
        assert len(list((tmp_path / "out" / "cat").iterdir())) == 2


def test_frames_are_written(tmp_path):
    path = write_video(tmp_path / "clip.avi")
    for _ in range(2):  # a second time adds nothing
        sort_images([predict(f"{path}@0.5s", "cat")], tmp_path / "sorted", ["cat"])
    (frame,) = (tmp_path / "sorted" / "cat").iterdir()
    assert frame.name == "clip.avi@0.5s.png"
    assert frame.stat().st_size > 0


@pytest.mark.parametrize(
    "label", ["..", "../x", "/etc", "a\\b", "", ".", ".git", "é" * 300, "\udcff"]
)
def test_labels_stay_inside(tmp_path, label):
    name = name_folders([label])[label]
    assert os.path.basename(name) == name
    assert name
    assert not name.startswith(".")
    (tmp_path / name).mkdir()


def test_labels_have_folders_of_their_own(tmp_path, images):
    labels = ["gull/tern", "gull_tern", "Gull_Tern", "gull_tern-2", "caf\u00e9", "cafe\u0301"]
    assert list(name_folders(labels).values()) == [
        "gull_tern",
        "gull_tern-2",
        "Gull_Tern-3",
        "gull_tern-2-2",
        "caf\u00e9",
        "cafe\u0301-2",
    ]
    # The class called unknown is not the folder of rejected images.
    predictions = [
        predict(images[0], "unknown", unknown=False),
        predict(images[1], "x", unknown=True),
    ]
    sort_images(predictions, tmp_path / "sorted", ["unknown", "x"])
    assert (tmp_path / "sorted" / "unknown-2" / "a.jpg").read_text() == "one/a.jpg"
    assert (tmp_path / "sorted" / "unknown" / "a.jpg").read_text() == "two/a.jpg"


def test_a_folder_with_files_is_refused(tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError, match="is not empty"):
        check_sorting(tmp_path, overwrite=False)
    check_sorting(tmp_path, overwrite=True)
    check_sorting(tmp_path / "new", overwrite=False)
