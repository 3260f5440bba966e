"""``report`` of a model and of a store."""

from tests.cli.calling import call_json


def test_report_of_a_store(model, tmp_path, capsys):
    store = model.with_name("letters.store")
    found = call_json(capsys, "report", store, "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert found["report"] == str(tmp_path / "r.html")
    for section in ("patches", "components", "gaussians", "values", "correlations"):
        assert f'<section id="{section}">' in page
    beside = call_json(capsys, "report", store)["report"]
    assert beside == f"{store}.html"
    call_json(capsys, "report", store, status=2)
    call_json(capsys, "report", store, "--overwrite")


def test_report_is_made_from_the_model_folder(model, tmp_path, capsys):
    found = call_json(capsys, "report", model, "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert found["report"] == str(tmp_path / "r.html")
    assert "validation" in page
    assert len(page) > 10_000
