"""Fuzzing keeps the files that reached new lines, and reads them again before others."""

from myriad.errors import InputError, shorten
from tests.robustness.fuzzing import fuzz
from tests.robustness.readers import Reader


def read_long(path):
    """Reach lines of the package only with a long text; fail with one text."""
    text = path.read_text()
    if text == "fails":
        raise RuntimeError
    if len(text) > 1000:
        shorten(text)
    raise InputError("refused")


READER = Reader(
    read_long,
    "a.txt",
    lambda content, draw: content * draw.choice([1, 2]) or b"x",
    lambda ready, folder: (folder / "a.txt").write_text("a" * 600),
)


def fuzz_reader(tmp_path, seconds):
    return fuzz(READER, tmp_path, tmp_path / "work", tmp_path / "found", seconds=seconds, seed=0)


def test_files_that_reach_new_lines_are_kept_and_read_again(tmp_path):
    result = fuzz_reader(tmp_path, 0.2)
    kept = tmp_path / "found" / "reached" / "0"
    assert result.faults == {}
    assert min(len(path.read_text()) for path in kept.iterdir()) > 1000
    (kept / "other").write_text("fails")
    (what,) = fuzz_reader(tmp_path, 1e-6).faults
    assert what.startswith("RuntimeError at test_fuzzing.py")
