import pytest

from myriad.errors import InputError
from myriad.images import find_images
from myriad.images.corrections import correct_images
from tests.images.pictures import write_picture


@pytest.fixture
def images(tmp_path):
    for name in ("cat/1.png", "cat/2.png", "dog/3.png"):
        write_picture(tmp_path / "photos" / name)
    return find_images(tmp_path / "photos")


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "corrections.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_labels_are_corrected_and_images_left_out(images, write):
    found = correct_images(images, write("path,label\ncat/1.png,dog\ncat/2.png,\n"))
    assert found.paths == ["cat/1.png", "dog/3.png"]
    assert [found.class_names[label] for label in found.labels] == ["dog", "dog"]
    assert found.fingerprint() != images.fingerprint()


def test_a_class_without_images_is_left_out(images, write):
    found = correct_images(images, write("Path, Label\ncat/1.png,dog\ncat/2.png,\n"))
    assert found.class_names == ["dog"]
    assert found.labels.tolist() == [0, 0]


def test_the_file_that_check_writes_is_read(images, write):
    text = f"path,label,given,suggested,score\n{images.locate(0)},dog,cat,dog,3.2\n"
    assert correct_images(images, write(text)).labels.tolist() == [1, 0, 1]


def test_paths_may_be_relative_to_the_current_folder(images, write, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    text = "path,label\n../photos/cat/1.png,dog\n"
    assert correct_images(images, write(text)).labels.tolist() == [1, 0, 1]


def test_a_correction_that_was_made_already_is_accepted(images, write):
    text = "path,label,given\ndog/3.png,dog,cat\n"
    assert correct_images(images, write(text)).labels.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("path,label\ncat/9.png,dog\n", r"line 2: the data have no image 'cat/9.png'"),
        ("path,label\ncat/1.png,wolf\n", r"line 2: 'wolf' is not a class"),
        ("path,given,label\ncat/1.png,wolf,dog\n", r"'wolf' is not a class"),
        ("path,label\ncat/1.png,dgo\n", r"is not a class of the data\. Did you mean 'dog'"),
        ("path,label,given\ndog/3.png,cat,cat\n", "the label of 'dog/3.png' is 'dog', not 'cat'"),
        ("path,label\ncat/1.png,dog\ncat/1.png,cat\n", r"line 3: .* already in an earlier line"),
        ("path,label\n,dog\n", r"line 2: the path is empty"),
        ("path,label\ncat/1.png\n", r"not as many cells"),
        ("path,label\ncat/1.png,dog,more\n", r"not as many cells"),
        ("path,suggested\ncat/1.png,dog\n", r"one column path and one column label"),
        ("", r"an empty line"),
        ("path,label\ncat/1.png,\ncat/2.png,\ndog/3.png,\n", r"leave out every image"),
        ('path,label\n"cat/1.png,dog\n', r"not valid CSV"),
    ],
)
def test_bad_files_are_refused(images, write, text, message):
    with pytest.raises(InputError, match=message):
        correct_images(images, write(text))


def test_missing_and_binary_files_are_refused(images, tmp_path):
    with pytest.raises(InputError):
        correct_images(images, tmp_path / "missing.csv")
    (tmp_path / "b.csv").write_bytes(b"path,label\n\xff\xfe\n")
    with pytest.raises(InputError, match="UTF-8"):
        correct_images(images, tmp_path / "b.csv")
