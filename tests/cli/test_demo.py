"""``demo``: the main job on glyphs."""

from tests.cli.calling import call_json


def test_demo_does_the_main_job(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = call_json(capsys, "demo", "--classes", 10, "--images", 10)
    assert found["test"]["n"] == 20
    assert found["ceiling"] == 100
    assert (tmp_path / "myriad-demo" / "report.html").is_file()
    quick = ["--classes", 10, "--images", 5, "--objective", "ovr"]
    again = call_json(capsys, "demo", *quick, "--confusables")
    assert again["test"]["n"] == 10
    (tmp_path / "myriad-demo" / "mine.txt").write_text("keep")
    refused = call_json(capsys, "demo", *quick, status=2)
    assert "mine.txt" in refused["error"]


def test_demo_refuses_more_classes_than_the_fonts_hold(tmp_path, capsys):
    refused = call_json(capsys, "demo", "--classes", 5000, "--out", tmp_path / "d", status=2)
    assert "5000" in refused["error"] or "5,000" in refused["error"]
    assert not (tmp_path / "d").exists()
