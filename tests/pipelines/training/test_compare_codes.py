"""Codes compared on one store."""

import json

import pytest

from myriad.errors import InputError
from myriad.pipelines.run import Run
from myriad.pipelines.training import compare_codes as work
from myriad.pipelines.training.compare_codes import compare_codes
from myriad.progress import Progress
from myriad.training import SGD
from tests.pipelines.stores.test_compress import DIM, N, write_store

METHOD = SGD(eta=0.01, beta=4.0, epochs=4)


class Notes(Progress):
    def __init__(self):
        self.said = []

    def note(self, sentence):
        self.said.append(sentence)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("plain") / "s")


def test_every_code_has_its_line(plain, tmp_path):
    notes = Notes()
    found = compare_codes(
        plain,
        tmp_path / "work",
        codes=("pq", "bits", "scalar"),
        ratios=(4.0, 32.0),
        method=METHOD,
        run=Run(progress=notes),
    )
    lines = [(row.codes, row.asked) for row in found.rows]
    assert lines == [
        ("none", 1),
        ("pq", 4),
        ("pq", 32),
        ("bits", 4),
        ("bits", 32),
        ("scalar", 4),
    ]
    assert any("scalar at ratio 32 is left out" in sentence for sentence in notes.said)
    for row in found.rows:
        assert row.split == "test"
        assert row.n == N // 4
        assert row.top1 > 60
        assert row.ratio >= row.asked
        assert row.bytes_per_row == pytest.approx(4 * DIM / row.ratio)
        assert (row.error is None) == (row.codes == "none")
        assert row.seconds_training > 0
        assert row.seconds_predicting > 0
    best = found.best()
    assert best.top1 == max(row.top1 for row in found.rows)
    content = found.to_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["codes.json"]


def test_an_interrupted_comparison_resumes(plain, tmp_path, monkeypatch):
    options = {"codes": ("bits",), "ratios": (32.0, 64.0), "method": METHOD}
    compare_codes(plain, tmp_path, **options | {"ratios": (32.0,)})
    before = json.loads((tmp_path / "codes.json").read_text())["rows"]
    measured = []
    real = work._measure_one
    monkeypatch.setattr(
        work, "_measure_one", lambda *a, **k: [measured.append(a[2:4]), real(*a, **k)][1]
    )
    found = compare_codes(plain, tmp_path, **options, run=Run(resume=True))
    assert measured == [("bits", 64.0)]
    assert len(found.rows) == 3
    after = json.loads((tmp_path / "codes.json").read_text())["rows"]
    assert {key: after[key] for key in before} == before
    with pytest.raises(InputError, match="another store or method"):
        compare_codes(plain, tmp_path, method=SGD(eta=0.5), run=Run(resume=True))
    (tmp_path / "codes.json").write_text(
        json.dumps({"key": work._key(work.Store.open(plain), METHOD), "rows": {"x": 1}})
    )
    with pytest.raises(InputError, match="damaged"):
        compare_codes(plain, tmp_path, **options, run=Run(resume=True))


def test_refuses_what_cannot_be_compared(plain, tmp_path):
    with pytest.raises(InputError, match="--codes must be one of"):
        compare_codes(plain, tmp_path, codes=("zip",))
