"""Ctrl-C and ``kill -9`` at any moment: ``--resume`` ends with the bytes of a clean run.

``MYRIAD_KILLS`` sets how many times runs are killed, 6 if it is not set.
"""

import os
import random
import signal
import subprocess
import sys
import threading

import pytest

from myriad.models import load_model
from myriad.store import Store
from tests.robustness.calling import environment, start
from tests.robustness.killing import (
    TRAIN,
    Moment,
    kill_at,
    processes_in,
    reproducible_bytes,
    time_training,
    train,
    wait_for_end,
    write_data,
)

KILLS = int(os.environ.get("MYRIAD_KILLS", "6"))
EARLIEST = 0.5
"""Seconds in which a run only starts; a kill then tests nothing."""


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Return the folder of a clean run, the number of lines it prints and the seconds it takes."""
    data = tmp_path_factory.mktemp("clean")
    write_data(data)
    for name in ("first", "run"):
        (data / name).mkdir()
    called = train(data / "first")  # it may compile kernels
    assert called.status == 0, called.err
    called, seconds = time_training(data / "run")
    assert called.status == 0, called.err
    assert reproducible_bytes(data / "first") == reproducible_bytes(data / "run")
    return data / "run", called.err.count("\n"), seconds


def spread_moments(count, lines, seconds, seed):
    """Return moments spread over a run, in random order: half by lines printed, half by time.

    By time alone most of them would fall into the longest steps.
    """
    draws = random.Random(seed)
    half = -(-count // 2)
    moments = [
        Moment(int(lines * (i + draws.random()) / half), 0.1 * draws.random()) for i in range(half)
    ]
    span = max(seconds - EARLIEST, 0.1)
    moments += [Moment(0, EARLIEST + span * (i + draws.random()) / half) for i in range(half)]
    draws.shuffle(moments)
    return moments[:count]


def test_the_run_has_all_that_can_be_broken(clean):
    folder, _, _ = clean
    names = set(reproducible_bytes(folder))
    assert {"model.store/shard-00001.arrow", "model.store/index.arrow"} <= names
    assert b'"kind": "pq"' in (folder / "model.store" / "store.json").read_bytes()
    assert b"bad.png" in (folder / "model.store" / "store.json").read_bytes()


def test_killed_runs_end_with_the_same_bytes(clean):
    """Each run is killed twice, at first from the start and then while it resumes."""
    whole, lines, seconds = clean
    expected = reproducible_bytes(whole)
    runs = max(1, KILLS // 2)
    first, second = (spread_moments(runs, lines, seconds, seed) for seed in (1, 2))
    moments = list(zip(first, second, strict=True))

    def break_twice(number):
        folder = whole.parent / f"killed {number}"
        folder.mkdir()
        first, second = moments[number]
        killed = kill_at(folder, first) + kill_at(folder, second, "--resume")
        files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
        begun = any(path.stat().st_size for path in files)
        again = train(folder) if begun and number == 0 else None
        called = train(folder, "--resume")
        return killed, again, called, reproducible_bytes(folder), folder

    killed_in_all = 0
    for number in range(runs):
        killed, again, called, found, folder = break_twice(number)
        where = f"killed after {moments[number]} of {seconds:.1f} seconds"
        killed_in_all += killed
        if again is not None:
            assert again.status == 2, where
            assert "exists. Use --resume to resume it" in again.err, where
        assert called.status == 0, f"{where}: {called.err}"
        assert found.keys() == expected.keys(), where
        assert [name for name in found if found[name] != expected[name]] == [], where
        assert not list(folder.rglob(".*")), where
    assert killed_in_all >= runs // 2


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_runs_of_several_workers_leave_no_orphans_and_end_with_the_same_bytes(clean, number):
    whole, _, _ = clean
    folder = whole.parent / f"workers {number}"
    folder.mkdir()
    process = start(*TRAIN, "--threads", "2", cwd=folder)
    output = iter(process.stderr)
    assert any(line.startswith("Describing images") for line in output)
    assert len(processes_in(folder)) >= 4  # it, the server, two workers
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGKILL)
    assert wait_for_end(folder) == []
    called = train(folder, "--resume", "--threads", "3")
    assert called.status == 0, called.err
    assert reproducible_bytes(folder) == reproducible_bytes(whole)


def test_overwriting_runs_that_are_killed_keep_the_old_model_and_store(clean):
    whole, _, _ = clean
    expected = reproducible_bytes(whole)
    folder = whole.parent / "kept"
    folder.mkdir()
    assert train(folder, "--seed", "5").status == 0
    old = reproducible_bytes(folder)
    assert old["model/config.json"] != expected["model/config.json"]
    code = (
        "import os, signal; from myriad.cli import main\n"
        "from myriad.pipelines.describing import extract\n"
        "extract.replace_store = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main.run()"
    )
    words = [sys.executable, "-c", code, *TRAIN, "--overwrite"]
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert reproducible_bytes(folder) == old
    assert list(folder.glob(".*"))  # what the killed run had written beside
    load_model(folder / "model")
    Store.open(folder / "model.store")
    called = train(folder, "--resume")
    assert called.status == 0, called.err
    assert reproducible_bytes(folder) == expected
    assert not list(folder.glob(".*"))


def test_an_interruption_in_generated_code_has_the_same_status(tmp_path):
    """Python itself would then end by the signal, whatever becomes of the exception."""
    code = (
        "import sys; from myriad.cli import main\n"
        "def stop(app, arguments):\n"
        "    try: exec('raise KeyboardInterrupt')\n"
        "    except KeyboardInterrupt: return 130\n"
        "main.execute = stop; main.run()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment())
    assert done.returncode == 130


@pytest.mark.parametrize(
    ("step", "number"),
    [
        ("Sampling descriptors", signal.SIGINT),
        ("Describing images", signal.SIGTERM),
        ("Training", signal.SIGINT),
    ],
)
def test_interrupted_runs_say_so_and_keep_what_they_have(clean, step, number):
    whole, _, _ = clean
    folder = whole.parent / f"interrupted {step}"
    folder.mkdir()
    process = start(*TRAIN, cwd=folder)
    guard = threading.Timer(60, process.kill)
    guard.start()
    output = []
    for line in process.stderr:
        output.append(line)
        if line.startswith(step):
            break
    process.send_signal(number)
    out, rest = process.communicate()
    guard.cancel()
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in rest
    last = rest.splitlines()[-1]
    assert last.startswith("Interrupted. What was finished is kept; run the same command again")
    if step == "Training":
        assert (folder / "model.store" / "store.json").exists()
    called = train(folder, "--resume")
    assert called.status == 0, called.err
    assert reproducible_bytes(folder) == reproducible_bytes(whole)
