"""Paths that are URLs: how they are written, pickled and read."""

import pickle
import sys
from pathlib import Path

import fsspec
import pytest

from myriad.errors import InputError
from myriad.urls import UrlPath, as_path, fetch, path_exists, read_url, refuse_url

URLS = [
    "s3://bucket/rows.store",
    "memory://a/b",
    "https://host:8080/a/b.store",
    "file:///tmp/a",
    "simplecache::s3://bucket/a",
]


@pytest.mark.parametrize("url", URLS)
def test_a_url_keeps_its_slashes(url):
    path = as_path(url)
    assert isinstance(path, UrlPath)
    assert str(path) == url
    assert str(as_path(Path(url))) == url  # a plain path has lost one of them
    assert str(path / "store.json") == f"{url}/store.json"
    assert (path / "x").parent == path
    assert path.absolute() == path.resolve() == path
    again = pickle.loads(pickle.dumps(path))
    assert isinstance(again, UrlPath)
    assert str(again) == url


@pytest.mark.parametrize("name", ["a/b", "/a/b", "C:/a", "a:b", "odd: /x", "", "1a://b"])
def test_other_names_are_paths(name):
    path = as_path(name)
    assert type(path) is type(Path())
    assert path == Path(name)


def test_a_folder_named_like_a_url_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("memory:/there").mkdir(parents=True)
    assert not isinstance(as_path("memory:/there"), UrlPath)
    assert isinstance(as_path("memory:/elsewhere"), UrlPath)


def test_files_are_found_read_and_fetched(tmp_path):
    with fsspec.open("memory://urls/a.bin", "wb") as stream:
        stream.write(b"abc")
    path = as_path("memory://urls")
    assert path_exists(path / "a.bin")
    assert not path_exists(path / "b.bin")
    assert read_url(path / "a.bin") == b"abc"
    fetch(path / "a.bin", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"abc"
    assert path_exists(tmp_path / "copy")
    with pytest.raises(InputError, match=r"memory://urls/b.bin does not exist\."):
        fetch(path / "b.bin", tmp_path / "copy")
    with pytest.raises(InputError, match="does not exist"):
        read_url(path / "b.bin")


def test_unreachable_urls_are_reported(monkeypatch):
    with pytest.raises(InputError, match="nothing://x cannot be read: Protocol not known"):
        path_exists(as_path("nothing://x"))
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(
        InputError,
        match=r"s3://x needs another package to be read: Install s3fs.*download images first",
    ):
        path_exists(as_path("s3://x"))
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match=r"pip install 'myriad-learn\[cluster\]'"):
        path_exists(as_path("memory://x"))


def test_nothing_is_written_to_a_url():
    refuse_url(Path("a/b"))
    with pytest.raises(InputError, match="s3://bucket/a is a URL, and results are written to a d"):
        refuse_url(Path("s3://bucket/a"))
