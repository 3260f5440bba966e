from __future__ import annotations

from pathlib import Path

import pytest

from myriad.errors import InputError
from myriad.images.finding import find_images, list_inputs
from tests.images.pictures import write_picture


class TestFindImages:
    def test_missing(self, tmp_path):
        with pytest.raises(InputError, match=r"nowhere does not exist\."):
            find_images(tmp_path / "nowhere")
        with pytest.raises(InputError, match="does not exist"):
            find_images(Path("x" * 5000))

    def test_other_files(self, tmp_path):
        path = write_picture(tmp_path / "one.png")
        with pytest.raises(InputError, match="not a folder of images, a CSV manifest"):
            find_images(path)


class TestListInputs:
    @pytest.fixture
    def here(self, tmp_path, monkeypatch):
        for name in ("b/2.png", "b/1.png", "b/deep/3.png", "a.png"):
            write_picture(tmp_path / name)
        (tmp_path / "b" / "notes.md").touch()
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_files_and_folders_in_the_order_given(self, here):
        found = list_inputs(["b", "a.png", str(here / "b" / "2.png")])
        assert found == [
            Path("b/1.png"),
            Path("b/2.png"),
            Path("b/deep/3.png"),
            Path("a.png"),
            here / "b" / "2.png",
        ]

    def test_a_file_of_any_suffix_is_tried(self, here):
        assert list_inputs(["b/notes.md"]) == [Path("b/notes.md")]

    def test_list_relative_to_itself(self, here):
        (here / "b" / "list.txt").write_bytes(b"\xef\xbb\xbf1.png\r\n\r\ndeep/3.png\ngone.png")
        assert list_inputs(["b/list.txt"]) == [
            Path(f"b/{n}") for n in ("1.png", "deep/3.png", "gone.png")
        ]

    def test_list_relative_to_the_current_folder(self, here):
        (here / "b" / "list.txt").write_text("b/1.png\n2.png\n")
        assert list_inputs(["b/list.txt"]) == [Path("b/1.png"), Path("b/2.png")]

    def test_absolute_lines(self, here):
        (here / "list.txt").write_text(f"{here / 'a.png'}\n")
        assert list_inputs(["list.txt"]) == [here / "a.png"]

    @pytest.mark.parametrize(
        ("content", "error"),
        [
            (b"", "lists no images"),
            (b"\n \n", "lists no images"),
            (b"gone.png\nnowhere.png\n", r"none of its 2 files exists, 'gone\.png' first"),
            (b"\xff\xfe\xfa", "must be UTF-8 text"),
        ],
    )
    def test_bad_lists(self, here, content, error):
        (here / "list.txt").write_bytes(content)
        with pytest.raises(InputError, match=error):
            list_inputs(["list.txt"])

    @pytest.mark.parametrize(
        "name", ["gone.png", "gone/", "gone.txt", "x" * 5000, "*.png", "nul\0"]
    )
    def test_missing(self, here, name):
        with pytest.raises(InputError, match=r"does not exist\."):
            list_inputs(["a.png", name])

    @pytest.mark.parametrize("name", ["a.zip", "a.TAR", "a.tar.gz", "a.parquet", "a.csv"])
    def test_archives_and_manifests(self, here, name):
        (here / name).touch()
        with pytest.raises(InputError, match="neither an image, a folder nor a list"):
            list_inputs([name])

    def test_folder_without_images(self, here):
        (here / "empty").mkdir()
        with pytest.raises(InputError, match="holds no images"):
            list_inputs(["empty"])
