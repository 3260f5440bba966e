"""Compiling kernels ahead: the jobs that are run, and what is reported of them."""

from myriad.pipelines import warm_up
from myriad.pipelines.warm_up import IMAGES, RANKING, Job, list_jobs
from myriad.training import METHODS
from tests.cli.calling import call, call_json


def test_images_and_every_method_are_jobs():
    assert list_jobs() == [IMAGES, RANKING, *METHODS]


def test_a_job_is_run_in_a_worker_and_leaves_nothing(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(warm_up, "list_jobs", lambda: ["means"])
    found = call_json(capsys, "warm-up", "--threads", "1")
    assert found["kernels"] >= found["compiled"] >= 0
    assert not list(tmp_path.glob("myriad-*"))
    assert "Compiled" in call(capsys, "warm-up", "--threads", "1").out


def test_a_method_is_trained_on_drawn_rows(tmp_path):
    job = Job(tmp_path)
    job.draw()
    job("means")
    assert (tmp_path / "means.model" / "config.json").is_file()
