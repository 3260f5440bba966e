from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from myriad.errors import InputError
from myriad.images.finding import find_images
from myriad.images.manifest import SeveralLabels
from myriad.images.reading import BadImage
from tests.images.pictures import write_picture


@pytest.fixture
def manifest(tmp_path):
    """Return a function that writes a manifest beside two pictures."""
    for name in ("1.png", "2.png"):
        write_picture(tmp_path / "pictures" / name)

    def write(text, encoding="utf-8"):
        path = tmp_path / "labels.csv"
        path.write_bytes(text.encode(encoding) if isinstance(text, str) else text)
        return path

    return write


def test_columns(manifest):
    path = manifest(
        "path,label,split,group\n"
        "pictures/1.png,cat,train,g1\n"
        "\n"
        'pictures/2.png,"a, ""b""",VALID,\n'
        "pictures/3.png,cat,,g0\n"
        "pictures/4.png,cat,test,g2\n"
    )
    images = find_images(path)
    assert images.root == path.parent
    assert images.paths == [f"pictures/{i}.png" for i in (1, 2, 3, 4)]
    assert images.class_names == ['a, "b"', "cat"]
    assert images.labels.tolist() == [1, 0, 1, 1]
    assert images.splits.tolist() == ["train", "val", "", "test"]
    assert images.groups.tolist() == [1, -1, 0, 2]
    assert images.labels.dtype == images.groups.dtype == np.int32
    assert images.read(0).startswith(b"\x89PNG")
    with pytest.raises(BadImage, match="missing file"):
        images.read(2)


def test_order_of_columns_extra_columns_and_byte_order_mark(manifest):
    path = manifest(
        "\ufeffLabel, author ,PATH\r\ncat,me,pictures/1.png\r\ndog,you,pictures/2.png\r\n"
    )
    images = find_images(path)
    assert images.class_names == ["cat", "dog"]
    assert images.paths == ["pictures/1.png", "pictures/2.png"]
    assert images.groups is None
    assert set(images.splits) == {""}


def test_a_column_that_resembles_an_optional_one_is_mentioned(manifest):
    images = find_images(manifest("path,label,spilt,camera\npictures/1.png,a,test,x\n"))
    (warning,) = images.warnings
    assert warning.endswith("labels.csv: the column 'spilt' is not used. Did you mean 'split'?")
    complete = "path,label,split,splits\npictures/1.png,a,test,x\n"
    assert find_images(manifest(complete)).warnings == []


def test_absolute_paths(manifest, tmp_path):
    file = tmp_path / "pictures" / "1.png"
    images = find_images(manifest(f"path,label\n{file},a\npictures/2.png,b\n"))
    assert images.read(0) == file.read_bytes()


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", r"labels\.csv is empty"),
        ("path,label\n", r"lists no images"),
        ("path,label,path\nx,y,z\n", r"line 1: two columns are named path"),
        (
            "file,class\n1.png,a\n",
            r"line 1: no column path and no column label; .* file, class\. A",
        ),
        ("path label\n1.png a\n", r"line 1: no column path and no column label; .* path label"),
        ("path\n1.png\n", r"line 1: no column label; the columns are path\."),
        ("pth,label\n1.png,a\n", r"columns are pth, label\. Did you mean 'path'\? A manifest has"),
        ("path,label\npictures/1.png,a\npictures/2.png\n", r"line 3: 1 cells where .* 2 columns"),
        ("path,label\npictures/1.png,a,b\n", r"line 2: 3 cells"),
        ("path,label\n ,a\n", r"line 2: the path is empty"),
        ("path,label\npictures/1.png,\n", r"line 2: the label is empty"),
        (
            "path,label\na.png,a\nb.png,a\n./a.png,b\n",
            r"line 4: the path '\./a\.png' is already",
        ),
        ("path,label,split\na.png,a,dev\n", r"line 2: split is 'dev'; it must be train, val, test"),
        (
            "path,label,split,group\na.png,a,train,g\nb.png,a,,g\nc.png,a,test,g\n",
            r"line 4: group 'g' is in train and in test",
        ),
        ("path,label\nx.png,a\ny.png,b\n", r"none of its 2 files exists, 'x\.png' first"),
        (b"path,label\n\xff\xfe.png,a\n", r"is not UTF-8"),
        ('path,label\n"x.png,a\n', r"line 2: not valid CSV"),
        (f"path,label\n{'x' * 200_000},a\n", r"line 2: not valid CSV"),
        ("path,label\nx\0.png,a\n", r"(none of its 1 files exists|not valid CSV)"),
    ],
)
def test_what_is_wrong_is_named(manifest, text, error):
    path = manifest(text)
    with pytest.raises(InputError, match=error) as caught:
        find_images(path)
    assert str(path) in str(caught.value)


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=st.one_of(st.binary(max_size=200), st.text('path,label\n"\r ;a/.é\0', max_size=80)))
def test_fuzz_gives_a_list_or_an_input_error(manifest, text):
    start = b"path,label,split,group\npictures/1.png,a,train,g\n"
    body = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    for data in (body, start + body):
        try:
            images = find_images(manifest(data))
        except InputError:
            continue
        assert len(images) == len(images.labels) == len(images.splits)
        images.fingerprint()


def name_labels(images):
    return [images.labels_of(i) for i in range(len(images))]


def test_several_labels_in_a_cell(manifest):
    path = manifest("path,label\npictures/1.png,cat; dog;cat\npictures/2.png,\n")
    images = find_images(path, several=SeveralLabels(separator=";"))
    assert images.class_names == ["cat", "dog"]
    assert name_labels(images) == [["cat", "dog"], []]
    assert images.labels.tolist() == [0, -1]
    assert name_labels(images.select([1, 0])) == [[], ["cat", "dog"]]
    other = manifest("path,label\npictures/1.png,cat\npictures/2.png,dog\n")
    several = find_images(other, several=SeveralLabels(separator=";"))
    assert several.fingerprint() == find_images(other).fingerprint()
    assert several.fingerprint() != images.fingerprint()


def test_several_labels_in_repeated_lines(manifest):
    path = manifest(
        "path,label,split\npictures/1.png,dog,test\npictures/2.png,cat,\n./pictures/1.png,cat,test\n"
    )
    images = find_images(path, several=SeveralLabels(repeated=True))
    assert images.paths == ["pictures/1.png", "pictures/2.png"]
    assert name_labels(images) == [["cat", "dog"], ["cat"]]
    with pytest.raises(InputError, match=r"line 4: .* already in an earlier line.*--multi-label"):
        find_images(path)


def test_repeated_lines_of_two_splits_are_refused(manifest):
    path = manifest("path,label,split\npictures/1.png,dog,test\npictures/1.png,cat,train\n")
    with pytest.raises(InputError, match=r"line 3: .* another split"):
        find_images(path, several=SeveralLabels(repeated=True))


def test_several_labels_are_for_manifests(tmp_path):
    with pytest.raises(InputError, match="for CSV manifests"):
        find_images(tmp_path, several=SeveralLabels(repeated=True))


@pytest.mark.long
def test_a_million_lines_of_ten_thousand_classes(manifest):
    lines = (f"pictures/{i}.png,{i % 10_000},,{i // 3}\n" for i in range(1_000_000))
    images = find_images(manifest("path,label,split,group\n" + "".join(lines)))
    assert len(images.paths) == 1_000_000
    assert len(images.class_names) == 10_000
    np.testing.assert_array_equal(np.bincount(images.labels), np.full(10_000, 100))
    assert images.groups.max() == 333_333
