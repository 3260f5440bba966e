"""The parts of the release checklist that need no build."""

import importlib.util
import re
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / ".ci" / "release.py"
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def release():
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_version_to_cite_is_that_of_the_project(release):
    assert release.check_citation() == release.read_version()


def write_wheel(folder, names):
    with zipfile.ZipFile(folder / "myriad_learn-0-py3-none-any.whl", "w") as wheel:
        for name in names:
            wheel.writestr(name, "")


def test_a_wheel_without_a_needed_file_is_refused(release, tmp_path):
    names = [f"myriad/{name}" for name in release.NEEDED]
    write_wheel(tmp_path, names)
    assert release.check_wheel(tmp_path) == f"{len(names)} files"
    write_wheel(tmp_path, names[1:])
    with pytest.raises(AssertionError, match=r"missing: py\.typed"):
        release.check_wheel(tmp_path)
    write_wheel(tmp_path, [*names, "myriad/__pycache__/a.nbi"])
    with pytest.raises(AssertionError, match="compiled"):
        release.check_wheel(tmp_path)


def test_what_a_wheel_needs_exists(release):
    for name in release.NEEDED:
        assert (ROOT / "src" / "myriad" / name).is_file()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_yaml_with_steps(path):
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    for job in workflow["jobs"].values():
        assert job["steps"]


def test_the_workflow_tests_the_versions_that_the_project_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    workflow = yaml.safe_load(WORKFLOWS[-1].read_text(encoding="utf-8"))
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == named
