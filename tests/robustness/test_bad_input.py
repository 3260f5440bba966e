"""Every row of the table of bad cases: exit status, error message, and no file is lost."""

import json
import shlex

import jsonschema
import pytest

from tests.cli.schemas import load_schema
from tests.robustness.calling import Called, call, call_subprocess
from tests.robustness.cases import Case
from tests.robustness.cases_codes import CODE_CASES
from tests.robustness.cases_data import DATA_CASES
from tests.robustness.cases_failures import FAILURE_CASES
from tests.robustness.cases_models import MODEL_CASES
from tests.robustness.cases_options import OPTION_CASES
from tests.robustness.cases_outputs import OUTPUT_CASES
from tests.robustness.cases_rows import ROW_CASES
from tests.robustness.cases_studies import STUDY_CASES
from tests.robustness.inputs import snapshot

CASES = [
    *DATA_CASES,
    *OUTPUT_CASES,
    *FAILURE_CASES,
    *MODEL_CASES,
    *STUDY_CASES,
    *OPTION_CASES,
    *ROW_CASES,
    *CODE_CASES,
]
IN_SUBPROCESS = ("empty folder", "hard names", "option --threads 0")
"""Rows that are also run in a subprocess, as a shell does."""


def test_names_of_cases_are_unique():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert set(IN_SUBPROCESS) <= set(names)


@pytest.mark.parametrize(
    ("case", "as_json"),
    [
        pytest.param(case, as_json, id=f"{case.name}-{'json' if as_json else 'plain'}")
        for case in CASES
        for as_json in (False, True)
        if case.status or not as_json  # the objects of success have tests of their own
    ],
)
def test_case(case, as_json, tmp_path, ready, monkeypatch):
    case.make(tmp_path, ready)
    before = snapshot(tmp_path)
    monkeypatch.chdir(tmp_path)
    if case.patch is not None:
        case.patch(monkeypatch)
    words = shlex.split(case.command)
    called = call(words[0], *(["--json"] if as_json else []), *words[1:])
    monkeypatch.undo()
    check_message(case, called, as_json=as_json)
    check_kept(case, before, snapshot(tmp_path))


@pytest.mark.parametrize("name", IN_SUBPROCESS)
def test_case_in_a_subprocess(name, tmp_path, ready):
    (case,) = (case for case in CASES if case.name == name)
    case.make(tmp_path, ready)
    before = snapshot(tmp_path)
    called = call_subprocess(*shlex.split(case.command), cwd=tmp_path)
    check_message(case, called, as_json=False)
    check_kept(case, before, snapshot(tmp_path))


def check_message(case: Case, called: Called, *, as_json: bool) -> None:
    output = called.out + called.err
    assert "Traceback" not in output
    assert "bug in myriad" not in output, output
    assert called.status == case.status, output
    if case.status == 0:
        assert case.says in output
        return
    if as_json:
        content = json.loads(called.out)
        jsonschema.validate(content, load_schema("error"))
        assert list(content) == ["error"]
        sentence = content["error"]
    else:
        assert called.out == ""
        sentence = called.err.splitlines()[-1]
        assert sentence.startswith("Error: ")
    assert case.says in sentence
    assert sentence.endswith((".", ")", "?"))


def check_kept(case: Case, before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """Check that no file has changed, except for those that the command may replace."""
    allowed = case.replaces if case.status == 0 else ()
    for path, content in before.items():
        if not any(path == name or path.startswith(f"{name}/") for name in allowed):
            assert path in after, f"{path} was removed"
            assert after[path] == content, f"{path} was changed"
    left = [
        path for path in after if path.rpartition("/")[2].startswith(".") and path not in before
    ]
    assert [path for path in left if path.endswith(".part")] == []
