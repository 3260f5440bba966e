"""``myriad info``: what a maintainer needs to know of an installation, and nothing private."""

import os
import sys
from importlib.metadata import version
from pathlib import Path

from myriad.pipelines.installation import describe_installation
from tests.cli.calling import call, call_json


def test_the_object_names_versions_machine_and_caches(capsys):
    found = call_json(capsys, "info", "--threads", "1")
    assert found["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["versions"]["numpy"] == version("numpy")
    assert "pytest" not in found["versions"]
    assert found["running"]["threads"] == 1
    assert found["machine"]["cores"] == os.cpu_count()


def test_the_text_is_markdown_that_an_issue_shows_as_tables(capsys):
    shown = call(capsys, "info").out
    assert shown.startswith("**Versions**\n\n| | |\n|---|---|\n| myriad |")
    for title in ("Machine", "Running", "Caches"):
        assert f"\n\n**{title}**\n\n| | |\n|---|---|\n" in shown


def test_variables_keep_their_names(capsys, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    shown = call(capsys, "info").out
    assert "| OMP_NUM_THREADS | 1 |" in shown
    assert "| file locks | " in shown


def test_secrets_and_the_home_folder_are_not_shown(monkeypatch):
    monkeypatch.setenv("MYRIAD_API_KEY", "secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(Path, "home", lambda: Path(sys.executable).parent)
    found = describe_installation()
    assert "secret" not in str(found)
    assert found.environment["OMP_NUM_THREADS"] == "1"
    assert found.caches["executable"].startswith("~")
