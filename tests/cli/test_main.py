import json
import subprocess
import sys

import pytest

from myriad.cli.main import VERBS
from tests.cli.calling import REAL, environment

HEAVY = ["sklearn", "matplotlib", "numba", "pyarrow", "faiss", "cv2", "scipy", "numpy", "PIL"]

SHOW_HELP = f"""
import json, sys, time
sys.argv[0] = "myriad"
from myriad.cli.main import run
try:
    run()
finally:
    heavy = [name for name in {HEAVY} if name in sys.modules]
    print(json.dumps([heavy, time.process_time()]), file=sys.stderr)
"""


def show_help(*arguments):
    """Return the help page, the heavy libraries that were imported and the seconds it took."""
    done = subprocess.run(
        [sys.executable, "-c", SHOW_HELP, *arguments, "--help"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0
    heavy, seconds = json.loads(done.stderr)
    return done.stdout, heavy, seconds


@pytest.mark.parametrize("arguments", [[], *([name] for name in VERBS)], ids=str)
def test_help_imports_nothing_heavy(arguments):
    page, heavy, _ = show_help(*arguments)
    assert "Usage: myriad" in page
    assert heavy == []


def test_help_is_quick():
    assert min(show_help()[2] for _ in range(3)) < 0.5


def test_help_lists_the_verbs():
    page = show_help()[0]
    assert [name for name in VERBS if f" {name} " not in page] == []


@pytest.mark.parametrize("name", VERBS)
def test_verb_has_the_common_options(name):
    page = show_help(name)[0]
    for option in ("--seed", "--threads", "--json", "--quiet"):
        assert option in page


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
