"""Two runs that write the same output: one is refused, and nothing is mixed or lost."""

import os
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

from myriad.cli.main import VERBS, find_verb
from myriad.locks import locked
from myriad.store import Store
from tests.robustness.calling import QUICK, Called, call, call_in, environment, start
from tests.robustness.fault_runs import check_exit
from tests.robustness.faults import Fault
from tests.robustness.inputs import snapshot
from tests.robustness.jobs import JOBS, add_rows
from tests.robustness.process_runs import REWRITES, check_readable

IMPORT = "import rows.npy --labels labels.npy"
CASES = [
    ("demo --out shown --classes 10 --images 5", "shown"),
    (f"train images --out model --overwrite {QUICK}", "model"),
    (f"train images --out model --overwrite {QUICK}", "model.store"),
    (f"train images --out model --resume {QUICK}", "model"),
    (f"train model.store --out new {QUICK}", "new"),
    ("check images --out checked", "checked"),
    ("check images --fix fixed.csv", "fixed.csv"),
    ("predict model images/ant/0.png --csv labels.csv", "labels.csv"),
    ("predict model images/ant/0.png --parquet labels.parquet", "labels.parquet"),
    ("predict model images/ant/0.png --sort-into sorted", "sorted"),
    ("explain model images/ant/0.png --out why.png", "why.png"),
    ("extract images --out model.store --overwrite", "model.store"),
    ("extract images --out model.store --resume", "model.store"),
    ("extract images --out below/new.store", "below/new.store"),
    ("compress model.store --out coded", "coded"),
    (f"{IMPORT} --out model.store --overwrite", "model.store"),
    ("export model.store --out exported", "exported"),
    ("export model --out model.onnx", "model.onnx"),
    ("tune model.store --out tuned", "tuned"),
    ("tune images --out tuned", "tuned.store"),
    ("compare model.store --out compared", "compared"),
    ("compare images --out compared", "compared.store"),
    ("compare model.store --codes bits --out compared", "compared"),
    ("extend model images --out grown --update", "grown"),
    ("forget model ant --out fewer", "fewer"),
    ("merge model ant bee --into insect --out fewer", "fewer"),
    ("report model", "model"),
    ("report model --out page.html", "page.html"),
    ("report model.store", "model.store.html"),
]
"""Commands, and an output of each."""


@contextmanager
def held(path):
    """Hold the lock of an output in another thread, which is as good as another process."""
    with ThreadPoolExecutor(1) as executor, ExitStack() as stack:
        executor.submit(stack.enter_context, locked(path)).result()
        try:
            yield
        finally:
            executor.submit(stack.close).result()


def write_rows(folder, seed=0, n=60):
    rows = np.random.default_rng(seed).standard_normal((n, 8)).astype(np.float32)
    np.save(folder / "rows.npy", rows)
    np.save(folder / "labels.npy", np.arange(n) % 3)


@pytest.fixture
def here(tmp_path, ready, monkeypatch):
    for name in ("images", "model", "model.store"):
        shutil.copytree(ready / name, tmp_path / name)
    write_rows(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_verb_that_writes_is_among_the_cases():
    writing = {name for name in VERBS if "overwrite" in signature(find_verb(name)).parameters}
    assert {command.split()[0] for command, _ in CASES} == writing | {"demo"}


@pytest.mark.parametrize(("command", "output"), CASES)
def test_an_output_that_another_run_writes_is_refused(here, command, output):
    before = snapshot(here)
    with held(Path(output)):
        called = call(*command.split())
    assert called.status == 1, called.err
    who = f"process {os.getpid()} on {socket.gethostname()}"
    sentence = f"Error: {output} is being written by another run ({who}): wait until it has ended,"
    assert sentence in called.err
    assert snapshot(here) == before


PAUSED = """
import sys
from myriad.cli import main
from myriad.store import StoreWriter
finish = StoreWriter.finish
def wait(self):
    print("ready", file=sys.__stderr__, flush=True)
    sys.stdin.readline()
    finish(self)
StoreWriter.finish = wait
main.run()
"""
"""The command, which waits for a line before it completes a store."""


@pytest.fixture
def finished(tmp_path):
    """Return a folder with a finished store and two inputs to replace it, `one` and `two`."""
    for seed, name in enumerate(("one", "two", "zero")):
        (tmp_path / name).mkdir()
        write_rows(tmp_path / name, seed)
    called = call_in(tmp_path, *importing("zero"))
    assert called.status == 0, called.err
    return tmp_path


def importing(name):
    files = [f"{name}/rows.npy", "--labels", f"{name}/labels.npy"]
    return ["import", *files, "--out", "rows.store", "--overwrite"]


@contextmanager
def paused(folder, name):
    """Start an import, and yield its process when all but the end is done."""
    words = [sys.executable, "-c", PAUSED, *importing(name)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words, cwd=folder, env=environment(), text=True, **pipes) as process:
        try:
            assert any(line == "ready\n" for line in process.stderr)
            yield process
        finally:
            process.kill()


def rows_of(folder):
    """Return the rows of the store, in the order of their input."""
    store = Store.open(folder / "rows.store")
    order = np.argsort([int(path.rpartition(":")[2]) for path in store.paths])
    return store.rows().read(order)


def test_the_second_of_two_writers_is_refused_and_the_first_ends_well(finished):
    before = snapshot(finished / "rows.store")
    with paused(finished, "one") as first:
        for how in ("--overwrite", "--resume"):
            words = [*importing("two")[:-1], how]
            second = call_in(finished, *words)
            assert second.status == 1
            assert f"(process {first.pid} on {socket.gethostname()})" in second.err
        assert snapshot(finished / "rows.store") == before
        first.communicate("go on\n", timeout=60)
        assert first.returncode == 0
    np.testing.assert_array_equal(rows_of(finished), np.load(finished / "one" / "rows.npy"))
    assert not list(finished.rglob(".*"))


def test_what_a_killed_writer_left_is_never_mixed_with_other_rows(finished):
    with paused(finished, "one") as first:
        first.kill()
    assert (finished / ".rows.store.lock").exists()
    called = call_in(finished, *importing("two")[:-1], "--resume")
    assert called.status == 2
    assert "was begun with files" in called.err
    called = call_in(finished, *importing("two"))
    assert called.status == 0, called.err
    np.testing.assert_array_equal(rows_of(finished), np.load(finished / "two" / "rows.npy"))
    assert not list(finished.rglob(".*"))


PAIRS = [("import over", "import over"), ("compress", "import the rows")]
"""Jobs that write, or read and write, the same store; the campaign runs all pairs."""


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_jobs_at_once_leave_whole_outputs(first, second, tmp_path):
    jobs = {job.name: job for job in [*JOBS, *REWRITES]}
    add_rows(tmp_path)
    shutil.copytree(tmp_path / "rows.store", tmp_path / "new.store")
    running = [start(*jobs[name].words, cwd=tmp_path) for name in (first, second)]
    for process in running:
        out, err = process.communicate(timeout=120)
        wrong = check_exit(Called(process.returncode, out, err), Fault(0, ""))
        assert not wrong
    assert not list(tmp_path.rglob("*.part"))
    assert check_readable(tmp_path) == ""
    assert 0 in [process.returncode for process in running]
