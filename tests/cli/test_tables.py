import io
import re
from contextlib import redirect_stdout

import pytest

from myriad.cli.tables import (
    describe_settings,
    print_accuracies,
    print_facts,
    print_summary,
    print_table,
)
from myriad.measures import Measures

HOSTILE = "a\nb\x1b[31m[bold]"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


def test_cells(capsys):
    print_table(
        ["class", "n", "top-1", "size", "kept"],
        [["猫", 1200, 97.518, "3.4 MB", True], [":smile:", 5, float("nan"), "12 kB", False]],
        right=["size"],
    )
    assert capsys.readouterr().out.splitlines() == [
        "class        n  top-1    size  kept",
        "猫       1,200  97.52  3.4 MB  yes",
        ":smile:      5      -   12 kB  no",
    ]


def test_table_without_rows(capsys):
    print_table(["class", "n"], [], title="Nothing")
    assert capsys.readouterr().out == "Nothing\nclass  n\n"


def test_pipe_gets_long_names_whole(capsys):
    name = "x" * 3000
    print_table(["name"], [[name]])
    print_facts({"Path": name})
    print_summary({"Model": name})
    out = capsys.readouterr().out
    assert out.count(name) == 3
    assert out.splitlines()[-1] == f"Model  {name}"


def test_terminal_gets_a_rule_and_folds_long_names(terminal):
    with redirect_stdout(terminal):
        print_table(["name", "n"], [[HOSTILE + "x" * 60, 1]])
    out = terminal.getvalue()
    assert "───" in out
    assert "\x1b[1m" in out
    assert r"a\nb\x1b[31m[bold]" in out
    assert "\x1b[31m" not in out
    assert out.count("x") == 60 + 1  # none is cut; one more in the escape


def test_summary_can_be_copied_into_a_shell(terminal):
    model = "my model's " + "x" * 60
    with redirect_stdout(terminal):
        print_summary({}, [("myriad", "predict", model, "IMAGE")])
    quoted = """'my model'"'"'s """ + "x" * 60 + "' IMAGE"
    assert f"myriad predict {quoted}" in terminal.getvalue()


def test_a_narrow_terminal_leaves_out_what_is_the_same_and_breaks_no_number(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    rows = [["one study", "hinge", 12.25, "fixed", 1234567], ["another", "hinge", 0.5, "lam", 2]]
    with redirect_stdout(terminal):
        print_table(["Study", "loss", "Top-1", "schedule", "Rows"], rows)
    lines = re.sub(r"\x1b\[\d*m", "", terminal.getvalue()).splitlines()
    assert max(map(len, lines)) <= 40
    assert "Same in all rows: loss hinge" in terminal.getvalue()
    assert any("12.25" in line and "1,234,567" in line for line in lines)


def test_a_wide_terminal_has_all_columns(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    with redirect_stdout(terminal):
        print_table(["Study", "loss"], [["one", "hinge"], ["two", "hinge"]])
    assert "Same in all rows" not in terminal.getvalue()
    assert terminal.getvalue().count("hinge") == 2


def test_records_break_no_word_in_a_narrow_terminal(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    columns = ["Image", "Unknown", "Best", "2"]
    rows = [
        ["photographs/0001.jpg", "", "water_lily (98.1 %)", "lotus (1.5 %)"],
        ["photographs/0002.jpg", "unknown", "lotus (51.0 %)", "water_lily (48.0 %)"],
    ]
    with redirect_stdout(terminal):
        print_table(columns, rows, records=True)
    lines = [line.rstrip() for line in re.sub(r"\x1b\[\d*m", "", terminal.getvalue()).splitlines()]
    assert lines[0] == "photographs/0001.jpg"
    assert lines[1].split() == ["Best", "water_lily", "(98.1", "%)"]
    assert [line.split()[0] for line in lines[3:]] == [rows[1][0], "Unknown", "Best", "2"]


@pytest.mark.parametrize(
    ("behind", "sentence"),
    [
        (0.5, "dual, behind by 0.50 ± 0.30 points"),
        (-0.5, "dual, ahead by 0.50 ± 0.30 points, within the error"),
        (-0.7, "dual, ahead by 0.70 ± 0.30 points"),
    ],
)
def test_the_runner_up_is_behind_or_ahead(behind, sentence):
    settings = {
        "objective": "softmax",
        "cross_validation": {"measure": "accuracy", "accuracy": 90.0, "error": 1.0, "rows": 100},
        "runner_up": {"objective": "dual", "behind": behind, "error": 0.3},
    }
    assert describe_settings(settings)["Runner-up"] == sentence


def test_settings_have_six_digits():
    settings = {"objective": "ovr", "eta": 1 / 3, "lam": 1e-05, "scale": False, "beta": None}
    found = describe_settings(settings)["Settings"]
    assert found == "objective ovr, eta 0.333333, lam 1e-05, scale no, beta none"


@pytest.mark.parametrize(
    ("split", "noun", "title"),
    [
        ("val", "image", "1 validation image, 2 classes\n"),
        ("test", "row", "1 test row, 2 classes\n"),
        ("all", "row", "1 row, 2 classes\n"),
    ],
)
def test_one_image_or_row_is_in_the_singular(capsys, split, noun, title):
    measures = Measures(1, 0, 0, 2, (100.0,) * 10, (100.0,) * 10)
    print_accuracies(measures, split=split, noun=noun)
    assert capsys.readouterr().out.startswith(title)
