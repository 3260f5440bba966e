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
    place = as_path(url)
    assert isinstance(place, UrlPath)
    assert str(place) == url
    assert str(as_path(Path(url))) == url  # a plain path has lost one of them
    assert str(place / "store.json") == f"{url}/store.json"
    assert (place / "x").parent == place
    assert place.absolute() == place.resolve() == place
    again = pickle.loads(pickle.dumps(place))
    assert isinstance(again, UrlPath)
    assert str(again) == url


@pytest.mark.parametrize("name", ["a/b", "/a/b", "C:/a", "a:b", "odd: /x", "", "1a://b"])
def test_other_names_are_paths(name):
    place = as_path(name)
    assert type(place) is type(Path())
    assert place == Path(name)


def test_a_folder_that_is_called_like_a_url_is_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("memory:/there").mkdir(parents=True)
    assert not isinstance(as_path("memory:/there"), UrlPath)
    assert isinstance(as_path("memory:/elsewhere"), UrlPath)


def test_files_are_found_read_and_fetched(tmp_path):
    with fsspec.open("memory://urls/a.bin", "wb") as stream:
        stream.write(b"abc")
    place = as_path("memory://urls")
    assert path_exists(place / "a.bin")
    assert not path_exists(place / "b.bin")
    assert read_url(place / "a.bin") == b"abc"
    fetch(place / "a.bin", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"abc"
    assert path_exists(tmp_path / "copy")
    with pytest.raises(InputError, match=r"memory://urls/b.bin does not exist\."):
        fetch(place / "b.bin", tmp_path / "copy")
    with pytest.raises(InputError, match="does not exist"):
        read_url(place / "b.bin")


def test_what_cannot_be_reached_is_said(monkeypatch):
    with pytest.raises(InputError, match="nothing://x cannot be read: Protocol not known"):
        path_exists(as_path("nothing://x"))
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(InputError, match=r"s3://x takes another package to read: Install s3fs"):
        path_exists(as_path("s3://x"))
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match=r"pip install 'myriad-learn\[cluster\]'"):
        path_exists(as_path("memory://x"))


def test_nothing_is_written_to_a_url():
    refuse_url(Path("a/b"))
    with pytest.raises(InputError, match="s3://bucket/a is a URL, and results are written to a d"):
        refuse_url(Path("s3://bucket/a"))
