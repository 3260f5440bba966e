"""Predictions as files: both formats have the same cells, and a broken run resumes."""

import csv

import pyarrow.parquet as pq
import pytest

from myriad.errors import InputError
from myriad.pipelines.predicting.files import Journal, write_csv, write_parquet

PREDICTIONS = [
    {
        "path": f"{name}.jpg",
        "labels": [
            {"label": "cat", "score": 1.5, "probability": 0.75},
            {"label": "dog", "score": 0.5, "probability": 0.25},
        ],
        "set": ["cat", "dog"],
        "unknown": False,
    }
    for name in ("a", "b\udce9")
]


def test_csv_and_parquet_have_the_same_cells(tmp_path):
    write_csv(PREDICTIONS, tmp_path / "p.csv")
    write_parquet(PREDICTIONS, tmp_path / "p.parquet")
    with (tmp_path / "p.csv").open(encoding="utf-8", errors="surrogateescape") as stream:
        lines = list(csv.DictReader(stream))
    table = pq.read_table(tmp_path / "p.parquet").to_pylist()
    assert len(lines) == len(table) == 4
    assert list(table[0]) == list(lines[0])
    assert table[0] == {
        "path": "a.jpg",
        "rank": 1,
        "label": "cat",
        "score": 1.5,
        "probability": 0.75,
        "set": "cat|dog",
        "unknown": False,
    }
    assert table[2]["path"] == "b?.jpg"


def test_no_predictions(tmp_path):
    write_parquet([], tmp_path / "p.parquet")
    assert pq.read_table(tmp_path / "p.parquet").num_rows == 0


def test_a_journal_is_read_again(tmp_path):
    out, key = tmp_path / "p.csv", {"model": "x", "k": 1}
    journal = Journal(out)
    journal.begin(key)
    journal.add(PREDICTIONS)
    journal.close(done=False)
    with journal.path.open("a") as stream:
        stream.write('{"path": "cut')
    again = Journal(out, resume=True)
    again.begin(key)
    assert again.entries == {entry["path"]: entry for entry in PREDICTIONS}
    again.close(done=False)
    third = Journal(out, resume=True)
    third.begin(key)
    assert len(third.entries) == 2
    third.close(done=True)
    assert not third.path.exists()


def test_a_journal_of_another_run_is_refused(tmp_path):
    out = tmp_path / "p.csv"
    journal = Journal(out)
    journal.begin({"k": 1})
    journal.close(done=False)
    with pytest.raises(InputError, match="another model or options"):
        Journal(out, resume=True).begin({"k": 2})
    fresh = Journal(out)
    fresh.begin({"k": 2})
    assert fresh.entries == {}
    fresh.close(done=True)
    journal.path.write_text("{\n")
    with pytest.raises(InputError, match="is damaged"):
        Journal(out, resume=True).begin({"k": 1})


@pytest.mark.parametrize(
    "line",
    [
        b"\xff",
        b"[" * 100_000,
        b"7",
        b"{}",
        b'{"path": "a.png"}',
        b'{"path": "a.png", "labels": []}',
        b'{"path": "a.png", "labels": [{"label": "cat", "score": "high"}]}',
        b'{"path": "a.png", "labels": [{"label": "\\ud800", "score": 1.0}]}',
        b'{"path": "\\ud800", "labels": [{"label": "cat", "score": 1.0}]}',
        b'{"path": "a.png", "labels": [{"label": "cat", "score": 1.0}], "set": 3}',
        b'{"path": "a.png", "labels": [{"label": "cat", "score": 1.0}], "set": ["\\ud800"]}',
    ],
)
def test_a_damaged_journal_is_refused(tmp_path, line):
    (tmp_path / ".p.csv.journal").write_bytes(b'{"k": 1}\n' + line + b"\n")
    with pytest.raises(InputError, match=r"journal is damaged: use --overwrite"):
        Journal(tmp_path / "p.csv", resume=True).begin({"k": 1})


def test_without_an_output_nothing_is_kept(tmp_path):
    journal = Journal()
    journal.begin({})
    journal.add(PREDICTIONS)
    journal.close(done=True)
    assert len(journal.entries) == 2
