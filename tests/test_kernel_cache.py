"""Compiled kernels where neither the installation nor the home folder can be written.

Permissions do not bind root, so Numba is restricted to the folder that NUMBA_CACHE_DIR names: with
that variable unset it finds no folder, just as in a read-only installation without a home.
"""

import json
import os
import stat
import subprocess
import sys

import numba
import numpy as np
import pytest

from myriad import kernel_cache
from myriad.kernel_cache import is_private
from myriad.pipelines.stores.importing import ImportOptions, import_rows

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid"), reason="folders have no owner and mode here"
)
NOTE = "compiled kernels are cached in"


@pytest.fixture
def rows(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(8, dtype=np.float32))
    np.save(tmp_path / "y.npy", np.arange(8) % 2)
    options = ImportOptions(labels=(str(tmp_path / "y.npy"),))
    import_rows([tmp_path / "X.npy"], tmp_path / "rows.store", options=options)
    (tmp_path / "temporary").mkdir(mode=0o700)
    return tmp_path


def compress(folder, *options, **variables):
    """Run the command with a cache only where NUMBA_CACHE_DIR points to."""
    if not hasattr(numba.config, "CACHE_LOCATOR_CLASSES"):
        pytest.skip("this Numba cannot be restricted to one folder")
    environment = {n: v for n, v in os.environ.items() if n not in ("NUMBA_CACHE_DIR", "HOME")}
    environment |= {
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "HOME": str(folder / "X.npy"),
        "TMPDIR": str(folder / "temporary"),
    }
    call = ["compress", "rows.store", "--codes", "scalar", "--out", "coded.store", "--overwrite"]
    return subprocess.run(
        [sys.executable, "-m", "myriad.cli.main", *call, *options],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_kernels_are_cached_in_a_private_temporary_folder(rows):
    done = compress(rows, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 8
    assert done.stderr.count(NOTE) == 1
    folder = rows / "temporary" / f"myriad-kernels-{os.geteuid()}"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert any(folder.iterdir())
    assert NOTE not in compress(rows, "--quiet").stderr


def test_a_folder_of_the_user_is_respected(rows):
    done = compress(rows, NUMBA_CACHE_DIR=str(rows / "mine"))
    assert done.returncode == 0, done.stderr
    assert NOTE not in done.stderr
    assert any((rows / "mine").iterdir())
    assert not list((rows / "temporary").glob("myriad-kernels-*"))


def test_a_folder_of_the_user_that_cannot_be_written_is_named(rows):
    done = compress(rows, NUMBA_CACHE_DIR=str(rows / "X.npy" / "mine"))
    assert done.returncode == 0, done.stderr
    assert f"nor can {rows / 'X.npy' / 'mine'}" in done.stderr


def test_nothing_is_cached_where_others_can_write(rows):
    folder = rows / "temporary" / f"myriad-kernels-{os.geteuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    done = compress(rows)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("each run compiles its kernels again") == 1
    assert list(folder.iterdir()) == []


def test_only_a_folder_that_nobody_else_can_change_is_private(tmp_path, monkeypatch):
    parent = tmp_path / "parent"
    folder = parent / "folder"
    folder.mkdir(parents=True)
    for mode, private in [(0o700, True), (0o750, False), (0o707, False)]:
        folder.chmod(mode)
        assert is_private(folder) == private
    folder.chmod(0o700)
    (parent / "link").symlink_to(folder)
    assert not is_private(parent / "link")
    for mode, private in [(0o777, False), (0o1777, True), (0o775, False), (0o755, True)]:
        parent.chmod(mode)
        assert is_private(folder) == private
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    assert not is_private(folder)


def test_a_slow_first_run_is_explained_once(monkeypatch):
    notes = []
    monkeypatch.setattr(kernel_cache, "_seconds", 0.0)
    with kernel_cache.report_to(notes.append):
        kernel_cache.report_compiling(2.0)
        assert notes == []
        kernel_cache.report_compiling(2.0)
        kernel_cache.report_compiling(9.0)
    assert len(notes) == 1
    assert "cached" in notes[0]


def test_python_programs_are_not_warned_of_compiling(monkeypatch):
    monkeypatch.setattr(kernel_cache, "_seconds", 0.0)
    kernel_cache.report_compiling(99.0)  # warnings are errors in tests
