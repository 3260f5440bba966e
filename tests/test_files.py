"""Arrays in files: compatible with the safetensors library, written in chunks; CSV files."""

import errno
import os

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from myriad import files
from myriad.errors import MESSAGE_CHARACTERS, InputError, WorkError
from myriad.files import atomic_write, atomic_writes, open_csv

ARRAYS = {
    "W": np.arange(12, dtype=np.float32).reshape(3, 4),
    "none": np.zeros((0, 4), np.float32),
    "odd": np.array([1, 2, 3], np.uint8),
    "wide": np.arange(5, dtype=np.int64),
    "yes": np.array([True, False]),
}


@pytest.mark.parametrize("bytes_at_a_time", [8, 1 << 20])
def test_the_library_reads_written_arrays(tmp_path, monkeypatch, bytes_at_a_time):
    monkeypatch.setattr(files, "_WRITE_BYTES", bytes_at_a_time)
    path = tmp_path / "a.safetensors"
    files.write_arrays(path, ARRAYS, {"key": "value"})
    found = load_file(path)
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    with safe_open(path, framework="np") as opened:
        assert opened.metadata() == {"key": "value"}


@pytest.mark.parametrize("mapped", [1, 1 << 30])
def test_arrays_of_the_library_are_read_or_mapped(tmp_path, monkeypatch, mapped):
    monkeypatch.setattr(files, "MAPPED_BYTES", mapped)
    path = tmp_path / "a.safetensors"
    save_file(ARRAYS, path)
    found = files.read_arrays(path)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
    assert found["W"].flags.writeable == (mapped > 1)


def test_damaged_file(tmp_path):
    path = tmp_path / "a.safetensors"
    files.write_arrays(path, ARRAYS)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(InputError, match="is damaged"):
        files.read_arrays(path)


@pytest.mark.parametrize("names", [(), ("source", None, "copy")])
def test_errors_of_a_full_disk_name_the_output(tmp_path, names):
    """Writing names no file, and copying the source."""
    with pytest.raises(OSError, match="No space") as raised, atomic_write(tmp_path / "a"):
        raise OSError(errno.ENOSPC, "No space left on device", *names)
    assert (raised.value.filename, raised.value.filename2) == (str(tmp_path / "a"), None)
    assert list(tmp_path.iterdir()) == []


def test_the_loser_of_a_race_learns_what_happened(tmp_path):
    path = tmp_path / "a.json"

    def write_as_another_process_does():
        with files.atomic_write(path) as partial_path:
            partial_path.write_text("{}")
            partial_path.rename(path)

    with pytest.raises(WorkError, match=r"a\.json was written by another process") as caught:
        write_as_another_process_does()
    assert ".part" not in str(caught.value)
    assert path.read_text() == "{}"


def test_messages_do_not_quote_whole_files():
    message = str(InputError(f"a.csv: {'x' * 10**7} is no number. Mend it."))
    assert len(message) <= MESSAGE_CHARACTERS
    assert message.startswith("a.csv: xxx")
    assert message.endswith("xxx is no number. Mend it.")


def touch_all(paths):
    with atomic_writes(*paths) as partial_paths:
        for path in partial_paths:
            path.touch()


def test_a_disk_that_fails_between_two_renames_leaves_a_sign_of_it(tmp_path, monkeypatch):
    plain = os.replace

    def replace(source, target):
        if target == tmp_path / "b":
            raise OSError(errno.EIO, "bad disk")
        plain(source, target)

    monkeypatch.setattr(os, "replace", replace)
    for names, left in ((("b", "a"), set()), (("a", "b"), {"a", ".b.part"})):
        with pytest.raises(OSError, match="bad disk"):
            touch_all(tmp_path / name for name in names)
        assert {path.name for path in tmp_path.iterdir()} == left


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("path,label\na;b.jpg,x\n", [["path", "label"], ["a;b.jpg", "x"]]),
        ("\ufeffpath;label\r\na.jpg;x, y\r\n", [["path", "label"], ["a.jpg", "x, y"]]),
        ("path\tlabel\na.jpg\tx\n", [["path", "label"], ["a.jpg", "x"]]),
        ("label\nx;y\n", [["label"], ["x;y"]]),
        ("", []),
    ],
)
def test_cells_of_csv_files_are_separated_as_spreadsheets_do(tmp_path, text, rows):
    (tmp_path / "list.csv").write_text(text, encoding="utf-8", newline="")
    with open_csv(tmp_path / "list.csv") as reader:
        assert list(reader) == rows
