import json
import subprocess
import sys

import pytest

from myriad.cli.main import VERBS
from tests.cli.calling import REAL, environment

HEAVY = ["sklearn", "matplotlib", "numba", "pyarrow", "faiss", "cv2", "scipy", "numpy", "PIL"]

SHOW_HELP = f"""
import json, sys
sys.argv[0] = "myriad"
from myriad.cli.main import run
try:
    run()
finally:
    heavy = [name for name in {HEAVY} if name in sys.modules]
    print(json.dumps(heavy), file=sys.stderr)
"""


def show_help(*arguments):
    """Return the help page, and the heavy libraries that were imported for it."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW_HELP, *arguments, "--help"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    return done.stdout, json.loads(done.stderr)


@pytest.mark.parametrize("arguments", [[], *([name] for name in VERBS)], ids=str)
def test_help_imports_nothing_heavy(arguments):
    page, heavy = show_help(*arguments)
    assert "Usage: myriad" in page
    assert heavy == []


def test_help_lists_the_verbs():
    page = show_help()[0]
    assert [name for name in VERBS if f" {name} " not in page] == []


@pytest.mark.parametrize("name", VERBS)
def test_verb_has_the_common_options(name):
    page = show_help(name)[0]
    for option in ("--seed", "--threads", "--json", "--quiet"):
        assert option in page


def test_train_shows_what_is_used_first_and_the_rest_under_headings():
    page = show_help("train")[0]
    assert max(map(len, page.splitlines())) <= 80
    first, *panels = page.split("╭─ ")[2:]
    for option in ("--out", "--objective", "--eta", "--learning-rate", "--lam", "--signature"):
        assert option in first
    assert first.count("│    --") <= 12
    titles = [panel.split(" ─")[0] for panel in panels]
    assert len(titles) == len(set(titles))
    for objective in ("warp", "topk", "dual", "wsabie", "trace"):
        assert any(objective in title for title in titles)
    assert titles[-1] == "Common options"


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
