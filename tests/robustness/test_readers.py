"""Mutated files for every reader, and files that once broke one: a sample of the campaign."""

from pathlib import Path
from random import Random

import pytest

from tests.robustness.http_fuzzing import fuzz_http
from tests.robustness.readers import READERS

CORPUS = Path(__file__).parent / "corpus"
FOUND = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", READERS)
def test_changed_files_are_read_or_refused(name, ready, tmp_path, monkeypatch):
    """Any exception but `MyriadError` and `BadImage` fails."""
    reader = READERS[name]
    reader.make(ready, tmp_path)
    monkeypatch.chdir(tmp_path)
    draw = Random(name)
    content = (tmp_path / reader.file).read_bytes()
    assert reader.try_content(tmp_path, content) == ""
    said = set()
    for _ in range(5 if name == "evidence" else 25):
        said.add(reader.try_content(tmp_path, reader.mutate(content, draw)))
    assert said


@pytest.mark.parametrize("name", [name for name in READERS if READERS[name].seeds])
def test_further_contents_to_start_from_are_valid(name, ready, tmp_path):
    reader = READERS[name]
    reader.make(ready, tmp_path)
    assert {reader.try_content(tmp_path, content) for content in reader.seeds} == {""}


@pytest.mark.parametrize("name", [name for name in READERS if READERS[name].others])
def test_files_of_other_kinds_to_start_from_are_valid(name, ready, tmp_path):
    reader = READERS[name]
    for number, make in enumerate(reader.others):
        folder = tmp_path / str(number)
        folder.mkdir()
        make(ready, folder)
        assert reader.try_content(folder, (folder / reader.file).read_bytes()) == ""


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_files_that_once_broke_a_reader(path, ready, tmp_path):
    reader = READERS[path.parent.name]
    reader.make(ready, tmp_path)
    reader.try_content(tmp_path, path.read_bytes())


def test_requests_are_answered(ready, tmp_path):
    result = fuzz_http(ready / "model", tmp_path / "feedback", requests=60, seed=3)
    assert result.n >= 50
    assert result.faults == {}
