"""``plan``: what a job takes."""

from tests.cli.calling import call, call_json


def test_plan_prints_time_disk_and_memory(tmp_path, capsys, monkeypatch):
    from tests.pipelines.planning.test_plan import CORE, measure_speed

    monkeypatch.setattr(
        "myriad.pipelines.planning.plan.load_or_measure_machine", lambda **rest: CORE
    )
    monkeypatch.setattr("myriad.pipelines.planning.plan.measure_speed", measure_speed)
    found = call_json(capsys, "plan", "--like", "web97k", "--memory", "1GB")
    assert [row["step"] for row in found["rows"]][-1] == "in all"
    assert found["rows"][1]["paper"] == "one month [HM, 8.3]"
    assert found["advice"]
    shown = call(capsys, "plan", "--images", 200, "--classes", 10, "--components", 4)
    assert "learn the codes" in shown.out
    scaled = call_json(capsys, "plan", "--like", "web97k", "--workers", "1,8,512")["clusters"]
    assert [row["workers"] for row in scaled] == [1, 8, 512]
    assert scaled[2]["limit"] == "exchanging weights"
    shown = call(capsys, "plan", "--like", "web97k", "--workers", "1,8,512")
    assert "Limited by" in shown.out
    for wrong in (
        ["--like", "mnist"],
        ["--images", 10],
        ["--like", "web97k", "--images", 3],
        ["--images", 9, "--classes", 3, "--memory", "much"],
        ["--images", 9, "--classes", 3, "--objective", "best"],
        ["--images", 9, "--classes", 3, "--workers", "1,0"],
        ["--images", 9, "--classes", 3, "--workers", "many"],
        ["--images", 9, "--classes", 3, "--stragglers", "1"],
    ):
        call_json(capsys, "plan", *wrong, status=2)
