"""Shards: WebDataset and Parquet, alone and in folders; labels, splits, damage."""

import io
import json
import pickle
import tarfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from myriad.errors import InputError
from myriad.images.finding import find_images
from myriad.images.parquet import holds_images
from myriad.images.reading import BadImage, read_image
from myriad.store.formats import is_row_data
from tests.images.pictures import colour_picture, encode

PNG = encode(colour_picture(), "PNG")


def pack(path, members):
    """Write a .tar of (name, content) pairs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as target:
        for name, content in members:
            content = content if isinstance(content, bytes) else content.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    return path


def labels_of(images):
    return [images.class_names[label] for label in images.labels]


class TestWebDataset:
    @pytest.mark.parametrize(
        ("suffix", "contents"),
        [
            ("cls", ["cat", "dog\n"]),
            ("txt", ["cat", "dog"]),
            ("json", ['{"label": "cat", "width": 3}', '{"class_name": "dog"}']),
            ("json", ['"cat"', '"dog"']),
        ],
    )
    def test_labels(self, tmp_path, suffix, contents):
        members = [(f"{i:03}.png", PNG) for i in range(2)]
        members += [(f"{i:03}.{suffix}", content) for i, content in enumerate(contents)]
        images = find_images(pack(tmp_path / "a.tar", members))
        assert labels_of(images) == ["cat", "dog"]
        assert images.paths == ["000.png", "001.png"]
        np.testing.assert_array_equal(read_image(images.read(1), colour=True), colour_picture())

    @pytest.mark.parametrize("n_unlabelled", [1, 3, 10])
    def test_numbers_metadata_and_images_without_a_label(self, tmp_path, n_unlabelled):
        members = [(f"{i}.png", PNG) for i in range(3 + n_unlabelled)]
        members += [("0.cls", "7"), ("1.cls", "3"), ("2.cls", "7"), ("0.json", '{"width": 64}')]
        images = find_images(pack(tmp_path / "a.tar", members))
        assert labels_of(images) == ["7", "3", "7"]
        assert f"left out: {n_unlabelled}" in images.warnings[0]

    def test_a_folder_of_shards_with_splits(self, tmp_path):
        for name in ("train-000.tar", "train-001.tar", "validation-000.tar", "trains.tar"):
            members = [("0.png", PNG), ("0.cls", name), ("1.png", PNG), ("1.cls", "x")]
            pack(tmp_path / "data" / name, members)
        images = find_images(tmp_path / "data")
        assert images.splits.tolist() == ["train"] * 4 + [""] * 2 + ["val"] * 2
        assert images.paths[0] == "train-000.tar/0.png"
        other = pickle.loads(pickle.dumps(images.files(range(8))))
        assert other.read(7) == PNG

    def test_hidden_members_are_ignored(self, tmp_path):
        members = [("0.png", PNG), ("0.cls", "cat"), ("1.png", PNG), ("1.cls", "dog")]
        hidden = [(f"./._{name}", b"\0\5\x16\7") for name, _ in members]  # as macOS packs them
        images = find_images(pack(tmp_path / "a.tar", [*members, *hidden]))
        assert images.paths == ["0.png", "1.png"]
        assert labels_of(images) == ["cat", "dog"]

    def test_a_folder_per_class_stays_one(self, tmp_path):
        members = [("a/1.png", PNG), ("b/1.png", PNG), ("a/notes.txt", "x"), ("1.txt", "y")]
        assert find_images(pack(tmp_path / "a.tar", members)).class_names == ["a", "b"]

    @pytest.mark.parametrize(
        ("members", "match"),
        [
            ([("0.cls", "cat"), ("0.txt", "dog")], "two labels for '0.png': 'cat' in '0.cls'"),
            ([("0.cls", "cat"), ("0.cls", "dog")], "two members called '0.cls'"),
            ([("0.json", "{")], "the label in '0.json' cannot be read"),
            ([("0.json", "[" * 100_000)], "the label in '0.json' cannot be read"),
            ([("0.cls", b"\xff\xfe")], "the label in '0.cls' cannot be read"),
            ([("0.cls", "")], "one line of text"),
            ([("0.json", '"\\ud800"')], "a label is not valid Unicode"),
            ([("0.json", "{}")], "has no labels"),
        ],
    )
    def test_bad_labels(self, tmp_path, members, match):
        path = pack(tmp_path / "a.tar", [("0.png", PNG), *members])
        with pytest.raises(InputError, match=match):
            find_images(path)

    def test_a_truncated_shard(self, tmp_path):
        path = pack(tmp_path / "d" / "a.tar", [("0.png", PNG), ("0.cls", "cat")])
        path.write_bytes(path.read_bytes()[:700])
        with pytest.raises(InputError, match=r"truncated|damaged"):
            find_images(tmp_path / "d")


def write_table(path, columns, features=None, **options):
    table = pa.table(columns)
    if features:
        metadata = {"huggingface": json.dumps({"info": {"features": features}})}
        table = table.replace_schema_metadata(metadata)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


IMAGES = [{"bytes": PNG, "path": f"{i}.png"} for i in range(5)]


class TestParquet:
    @pytest.mark.parametrize("nested", [False, True])
    @pytest.mark.parametrize("empty", [False, True])
    def test_images_that_repeat_thousands_of_times_are_refused(self, tmp_path, nested, empty):
        """A file of some kilobytes; an image is in it once, in the dictionary of the column."""
        value = pa.array([bytes(100_000)], pa.binary())
        column = pa.DictionaryArray.from_arrays(np.zeros(500, np.int32), value)
        if empty:
            column = pa.nulls(3_000_000, pa.binary())
        image = pa.StructArray.from_arrays([column], ["bytes"]) if nested else column
        columns = {"image": image, "label": pa.array(np.zeros(len(column), np.int8))}
        path = write_table(tmp_path / "a.parquet", columns, compression="zstd", store_schema=False)
        assert path.stat().st_size < 50_000
        with pytest.raises(InputError, match=r"image.* is compressed .* to 1"):
            find_images(path)

    def test_labels_of_a_strange_type_are_refused(self, tmp_path):
        """Not all values of a date are one that Python can hold."""
        label = pa.array([2**62], pa.timestamp("us"))
        path = write_table(tmp_path / "a.parquet", {"image": [PNG], "label": label})
        with pytest.raises(InputError, match="must be text or whole numbers"):
            find_images(path)

    def test_columns_of_the_same_name_are_refused(self, tmp_path):
        table = pa.table([[PNG], ["cat"], ["dog"]], names=["image", "label", "label"])
        pq.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(InputError, match="several columns 'label'"):
            find_images(tmp_path / "a.parquet")

    def test_labels_that_repeat_thousands_of_times_are_refused(self, tmp_path):
        label = pa.DictionaryArray.from_arrays(np.zeros(500, np.int32), ["x" * 100_000])
        columns = {"image": [PNG] * 500, "label": label}
        path = write_table(tmp_path / "a.parquet", columns, store_schema=False)
        with pytest.raises(InputError, match="'label' have more than 4096 bytes"):
            find_images(path)

    def test_labels_with_names(self, tmp_path):
        names = {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}
        columns = {"image": IMAGES, "label": [0, 1, 1, -1, None]}
        path = write_table(tmp_path / "a.parquet", columns, names, row_group_size=2)
        images = find_images(path)
        assert labels_of(images) == ["cat", "dog", "dog"]
        assert [images.read(i) for i in range(3)] == [PNG] * 3
        assert holds_images(path)
        assert not is_row_data(path)
        assert pickle.loads(pickle.dumps(images.files([2]))).read(0) == PNG

    @pytest.mark.parametrize("labels", [["x", "y", "x", "", None], [4, 5, 4, None, None]])
    def test_bytes_and_plain_labels(self, tmp_path, labels):
        columns = {"id": [1, 2, 3, 4, 5], "img": [PNG] * 5, "class": labels}
        images = find_images(write_table(tmp_path / "a.parquet", columns))
        assert labels_of(images) == [str(label) for label in labels[:3]]

    def test_a_folder_of_shards_with_splits(self, tmp_path):
        for name in ("data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"):
            write_table(tmp_path / name, {"image": IMAGES, "label": list("abcde")})
        images = find_images(tmp_path)
        assert images.splits.tolist() == ["test"] * 5 + ["train"] * 5

    def test_an_image_that_is_only_a_path_is_bad(self, tmp_path):
        columns = {"image": [IMAGES[0], {"bytes": None, "path": "x"}], "label": ["a", "b"]}
        images = find_images(write_table(tmp_path / "a.parquet", columns))
        with pytest.raises(BadImage, match="only a path"):
            images.read(1)

    @pytest.mark.parametrize(
        ("columns", "match"),
        [
            ({"image": IMAGES, "width": [1] * 5}, "no column of labels, only image, width"),
            ({"vector": [[1.0]] * 5, "label": list("abcde")}, "no column of images"),
            ({"image": IMAGES, "label": [0.5] * 5}, "text or whole numbers"),
        ],
    )
    def test_refused(self, tmp_path, columns, match):
        with pytest.raises(InputError, match=match):
            find_images(write_table(tmp_path / "a.parquet", columns))

    def test_damage(self, tmp_path):
        path = tmp_path / "a.parquet"
        path.write_bytes(b"PAR1 and nothing else")
        with pytest.raises(InputError, match=r"a\.parquet"):
            find_images(path)

    def test_rows_are_no_images(self, tmp_path):
        path = write_table(tmp_path / "a.parquet", {"vector": [[1.0]] * 5})
        assert is_row_data(path)
