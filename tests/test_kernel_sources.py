"""Cached kernels: they are compiled again when what they depend on has changed."""

import os
import subprocess
import sys

INNER = """
from myriad._jit import inlined

FACTOR = {factor}

@inlined
def change(x):
    return {body}
"""
OUTER = """
from inner import FACTOR, change
from myriad._jit import jit

@jit
def run(x):
    return change(x) * FACTOR
"""


def run(folder):
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    code = "import outer; print(outer.run(3.0), *outer.run.stats.cache_hits.values())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    value, *hits = done.stdout.split()
    return float(value), hits


def test_a_kernel_follows_the_kernels_and_constants_of_other_files(tmp_path):
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER.format(factor=1, body="x + 1.0"))
    assert run(tmp_path) == (4.0, [])
    assert run(tmp_path) == (4.0, ["1"])
    (tmp_path / "inner.py").write_text(INNER.format(factor=1, body="x + 2.0"))
    assert run(tmp_path) == (5.0, [])
    (tmp_path / "inner.py").write_text(INNER.format(factor=10, body="x + 2.0"))
    assert run(tmp_path) == (50.0, [])
