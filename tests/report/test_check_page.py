import numpy as np

from myriad.checks.cross_fitting import HeldProbabilities
from myriad.checks.duplicates import DuplicatePair
from myriad.checks.findings import Finding, Sample, group_duplicates
from myriad.checks.label_errors import TwinClasses, rank_labels
from myriad.pipelines.checking.check import Checked
from myriad.pipelines.checking.labels import CheckedLabels
from myriad.report.check_page import render_check_report


def make_checked(tmp_path, *, labels=False):
    names = ["ant <b>", "bee & co"]
    sample = Sample(
        "image",
        [f"<i>{i}.jpg" for i in range(8)],
        np.arange(8, dtype=np.int32) % 2,
        names,
        np.array(["train", "test"] * 4, "<U5"),
        [{"path": "<script>.jpg", "reason": "empty file"}],
    )
    pairs = [DuplicatePair(0, 1, 0.9, mirrored=True), DuplicatePair(2, 4, 1.0)]
    checked = None
    if labels:
        P = np.array([[0.9, 0.1], [0.1, 0.9]] * 4, np.float32)
        P[3] = [0.95, 0.05]
        held = HeldProbabilities(
            np.arange(8),
            sample.labels,
            P[np.arange(8), sample.labels],
            np.argsort(-P, axis=1).astype(np.int32),
            -np.sort(-P, axis=1),
        )
        ranked = rank_labels(held, 2)
        twins = [TwinClasses(0, 1, 0.8)]
        checked = CheckedLabels(ranked, ranked.list_wrong(), twins, tmp_path / "labels.csv")
    return Checked(
        tmp_path / "photos",
        sample,
        [Finding("leak", True, 1, "A <serious> thing.")],
        pairs,
        group_duplicates(pairs, sample),
        {"dark": [5]},
        {"sizes": {"median": [4, 3]}, "formats": {"JPEG": 8}, "modes": {"RGB": 8}},
        checked,
        tmp_path / "out",
        1.5,
        alike=[["a", "A"]],
    )


def read_image(path):
    return np.full((20, 30, 3), 120, np.uint8)


def test_everything_is_on_the_page_and_escaped(tmp_path):
    page = render_check_report(make_checked(tmp_path, labels=True), read_image=read_image)
    assert "A &lt;serious&gt; thing." in page
    assert "<i>" not in page
    assert "<script>.jpg" not in page
    assert "some mirrored, in test and train, in 2 classes" in page
    assert "Labels that may be wrong" in page
    assert "ant &lt;b&gt;\N{POP DIRECTIONAL ISOLATE}? (95\N{NO-BREAK SPACE}%)" in page
    assert "80\u202f%" in page or "80 %" in page or "80\xa0%" in page
    assert page.count("data:image/jpeg;base64,") == 4 + 1 + 1


def test_a_page_without_pictures(tmp_path):
    page = render_check_report(make_checked(tmp_path), read_image=lambda path: None)
    assert "data:image/jpeg" not in page
    assert "Labels that may be wrong" not in page
