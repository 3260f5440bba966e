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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("## Unreleased\n\n## 1.2.3 - 2030-01-31\n\n- New.\n", None),
        ("## 1.2.3 - 2030-01-31\n\n- New.\n", "no empty '## Unreleased'"),
        ("## Unreleased\n\n- Newer.\n\n## 1.2.3 - 2030-01-31\n", "no empty '## Unreleased'"),
        ("## Unreleased\n\n## 1.2.2 - 2030-01-31\n", "no '## 1.2.3 - YEAR"),
        ("## Unreleased\n", "no '## 1.2.3 - YEAR"),
    ],
)
def test_the_changelog_has_a_dated_section_below_an_empty_one(
    release, tmp_path, monkeypatch, text, problem
):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    monkeypatch.setattr(release, "read_version", lambda: "1.2.3")
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{text}", encoding="utf-8")
    if problem is None:
        assert release.check_changelog() == "1.2.3 - 2030-01-31"
        return
    with pytest.raises(AssertionError, match=re.escape(problem)):
        release.check_changelog()


def test_the_changelog_begins_with_unreleased_and_has_the_version():
    headings = re.findall(
        r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert headings[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+( - \d{4}-\d\d-\d\d)?", each) for each in headings[1:])


def write_wheel(folder, names, metadata=""):
    with zipfile.ZipFile(folder / "myriad_learn-0-py3-none-any.whl", "w") as wheel:
        for name in names:
            wheel.writestr(name, "")
        if metadata:
            wheel.writestr("myriad_learn-0.dist-info/METADATA", metadata)


def test_relative_links_and_missing_addresses_keep_a_wheel_from_pypi(release, tmp_path):
    write_wheel(tmp_path, [], "Name: myriad-learn\n\n[docs](https://example.org/docs)\n")
    with pytest.raises(AssertionError, match="no \\[project"):
        release.check_addresses(tmp_path)
    address = "Project-URL: Source, https://example.org\n\n"
    write_wheel(tmp_path, [], address + "![Plot](docs/plot.png) and [below](#more)\n")
    with pytest.raises(AssertionError, match=r"relative links: 1, such as docs/plot\.png"):
        release.check_addresses(tmp_path)
    write_wheel(tmp_path, [], address + "![Plot](https://example.org/docs/plot.png)\n")
    assert release.check_addresses(tmp_path) == "1 addresses"


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
