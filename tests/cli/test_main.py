import functools
import json
import re
import subprocess
import sys

import pytest

from myriad.cli.main import VERBS
from tests.cli.calling import REAL, call, environment

HEAVY = ["sklearn", "matplotlib", "numba", "pyarrow", "faiss", "cv2", "scipy", "numpy", "PIL"]

SHOW_HELP = f"""
import io, json, sys
from contextlib import redirect_stdout, suppress
from myriad.cli.main import run
shown = {{}}
for verb in sys.argv[1:]:
    page = io.StringIO()
    sys.argv = ["myriad", *verb.split(), "--help"]
    with redirect_stdout(page), suppress(SystemExit):
        run()
    heavy = [name for name in {HEAVY} if name in sys.modules]
    shown[verb] = [page.getvalue(), heavy]
print(json.dumps(shown))
"""


@functools.cache
def show_helps():
    """Return the help pages by verb, "" for that of all verbs, made in one new process.

    Each comes with the heavy libraries that were imported for it or for one before it.
    """
    done = subprocess.run(
        [sys.executable, "-c", SHOW_HELP, *VERBS, ""],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def show_help(verb=""):
    return show_helps()[verb][0]


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_imports_nothing_heavy(verb):
    page, heavy = show_helps()[verb]
    assert "Usage: myriad" in page
    assert heavy == []


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_cuts_nothing_off_at_80_columns(verb):
    page = show_help(verb)
    assert "\N{HORIZONTAL ELLIPSIS}" not in page
    assert max(map(len, page.splitlines())) <= 80


def test_help_lists_the_verbs():
    page = show_help()
    assert [name for name in VERBS if f" {name} " not in page] == []


@pytest.mark.parametrize("name", VERBS)
def test_verb_has_the_common_options(name):
    page = show_help(name)
    for option in ("--seed", "--threads", "--json", "--quiet"):
        assert option in page


def test_train_shows_what_is_used_first_and_the_rest_under_headings():
    page = show_help("train")
    assert max(map(len, page.splitlines())) <= 80
    first, *panels = page.split("╭─ ")[2:]
    for option in ("--out", "--objective", "--eta", "--learning-rate", "--lam", "--signature"):
        assert option in first
    assert first.count("│    --") <= 13
    titles = [panel.split(" ─")[0] for panel in panels]
    assert len(titles) == len(set(titles))
    for objective in ("warp", "topk", "dual", "wsabie", "trace"):
        assert any(objective in title for title in titles)
    assert titles[-1] == "Common options"


@pytest.mark.parametrize("name", VERBS)
def test_help_of_a_verb_has_an_example(name):
    page = show_help(name)
    assert re.search(rf"^ Example: myriad {name}( |$)", page, re.MULTILINE)
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("myriad pre", ["predict"]),
        ("myriad train --objective t", ["topk", "toppush", "trace"]),
        ("myriad train --objectiv", ["--objective"]),
        ("myriad train --calibration ", ["auto", "none", "split"]),
    ],
)
def test_a_shell_completes_verbs_options_and_words(typed, expected):
    done = subprocess.run(
        [sys.executable, "-m", REAL],
        env=environment(
            _MYRIAD_COMPLETE="complete_bash",
            COMP_WORDS=typed,
            COMP_CWORD=str(len(typed.split(" ")) - 1),
        ),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["predct", "birds"], "No such command 'predct'. Did you mean 'predict'?"),
        (["train", "x", "--objectve", "ovr"], "No such option --objectve. Did you mean '--obj"),
        (["train", "x", "--out", "y", "--objective", "softmx"], "Did you mean 'softmax'?"),
        (["train", "x", "--out", "y", "--signature", "fischer"], "Did you mean 'fisher'?"),
        (["train", "x", "--out", "y", "--loss", "hing"], "Did you mean 'hinge'?"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_nearest(capsys, arguments, sentence):
    assert sentence in call(capsys, *arguments, status=2).err


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_a_terminal_gets_no_colours_where_the_reader_wants_none():
    shown = {}
    for name, more in {"plain": {"NO_COLOR": "1"}, "coloured": {}}.items():
        script = "import pty, sys; sys.exit(pty.spawn([sys.executable, *sys.argv[1:]]) >> 8)"
        done = subprocess.run(
            [sys.executable, "-c", script, "-m", REAL, "plan", "--help"],
            env={k: v for k, v in environment(TERM="xterm-256color").items() if k != "NO_COLOR"}
            | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Usage: " in done.stdout
        shown[name] = re.findall(r"\x1b\[(?:\d+;)*3[1-7]m", done.stdout)
    assert shown["plain"] == []
    assert shown["coloured"]


def test_starts_as_a_module_and_refuses_an_unknown_verb():
    done = subprocess.run(
        [sys.executable, "-m", REAL, "sing"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: No such command 'sing'")


def test_python_does_not_look_for_garbage_as_it_ends():
    code = (
        "import atexit, gc\n"
        "from myriad.cli.main import run\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"
        "import sys; sys.argv = ['myriad', 'info', '--json', '--quiet']\n"
        "run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "True"
