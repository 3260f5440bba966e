"""What a notebook shows: searches as tables, models as facts, reports in a frame."""

import html

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.estimators.representation import InlineReport, SearchTable, describe_model


def test_a_search_is_a_list_and_a_table_with_the_best_first():
    candidates = [
        {"objective": "<dual>", "lam": 1e-6, "accuracy": 71.25, "curve": [1, 2]},
        {"objective": "softmax", "lam": None, "accuracy": 80.0},
    ]
    table = SearchTable(candidates)
    assert table == candidates
    shown = table._repr_html_()
    assert shown.index("softmax") < shown.index("&lt;dual&gt;")
    assert "<dual>" not in shown
    assert "curve" not in shown
    assert "1e-06" in shown
    assert "No search" in SearchTable()._repr_html_()


def test_a_long_search_says_what_it_leaves_out():
    table = SearchTable({"accuracy": float(i)} for i in range(100))
    shown = table._repr_html_()
    assert shown.count("<tr>") == 31
    assert "70 more candidates" in shown


def test_names_are_shown_in_their_own_direction():
    assert '<td dir="auto" style="text-align:left">طائر</td>' in describe_model("A", {"B": "طائر"})


def test_a_report_is_framed_whole_and_apart(tmp_path):
    page = tmp_path / "report.html"
    text = '<!doctype html><title>"a" & <b></title><script>1 < 2</script>'
    page.write_text(text, encoding="utf-8")
    shown = InlineReport(page, height=300)._repr_html_()
    inside = shown.split('srcdoc="')[1].split('"')[0]
    assert html.unescape(inside) == text
    assert 'sandbox="allow-scripts"' in shown
    with pytest.raises(InputError, match="myriad report"):
        InlineReport(tmp_path / "none" / "report.html", height=300)


def test_estimators_and_models_have_a_representation(tmp_path):
    from myriad import NearestMeans
    from myriad.estimators import Classifier
    from myriad.models import LinearModel, ModelFolder

    X, y = np.eye(4, dtype=np.float32), np.array(["a", "b", "c", "<d>"])
    fitted = NearestMeans().fit(X, y)
    assert "NearestMeans" in fitted._repr_html_()
    model = LinearModel(np.eye(4, dtype=np.float32), np.zeros(4, np.float32))
    folder = ModelFolder(model, y.tolist(), None, {"objective": "ovr"})
    shown = Classifier(folder)._repr_html_()
    assert "4: a, b, c, &lt;d&gt;" in shown
    assert "objective ovr" in shown
