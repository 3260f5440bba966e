"""Workers that die, runs that are killed at any time, and two runs on the same folders."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations_with_replacement, count
from pathlib import Path
from random import Random
from unittest import mock

from myriad.errors import InputError
from myriad.models import load_model
from myriad.parallel import processes
from myriad.pipelines.describing import image_rows
from myriad.store import Store
from tests.robustness.calling import Called, call
from tests.robustness.fault_runs import (
    CleanRun,
    check_exit,
    find_difference,
    find_lost_input,
    job_folder,
    run_clean,
    run_in_fork,
    start_fork,
    wait_for_fork,
)
from tests.robustness.faults import KILL_AFTER, Fault
from tests.robustness.inputs import snapshot
from tests.robustness.jobs import JOBS, TRAIN, Job, require_success


def with_threads(job: Job, threads: int) -> Job:
    """Return the same job with another number of threads."""
    return replace(job, command=re.sub(r"--threads \d+", f"--threads {threads}", job.command))


IN_PROCESSES = with_threads(Job("train workers", f"train images --out new {TRAIN}", ("images",)), 2)
"""A job whose images are described by two worker processes."""
KILLED = [
    IN_PROCESSES,
    *(
        with_threads(job, 2)
        for job in JOBS
        if job.again == "--resume" and job.name != "train images"
    ),
]
"""Jobs that are killed at any time: all that can be resumed, with two threads or workers."""
REWRITES = [
    Job(
        "train the model",
        f"train images --out model --overwrite {TRAIN}",
        ("images", "model", "model.store"),
    ),
    Job(
        "import the rows",
        "import rows.npy --labels labels.npy --out rows.store --overwrite --threads 1",
        ("rows.npy", "labels.npy", "rows.store"),
    ),
]
"""Jobs that replace what others read."""


@contextmanager
def describing_in_processes() -> Iterator[None]:
    """Describe images in worker processes, also if they are few."""
    with mock.patch.object(image_rows, "FEWEST", 1):
        yield


def check_dying_workers(ready: Path, work: Path) -> Iterator[tuple[str, str]]:
    """Kill a worker at each of its tasks, before or after it is sent; yield the problems."""
    plain = processes._Worker._ask

    def run(number: int, after: bool) -> tuple[Called, bool]:
        asked = 0

        def ask(worker, function, item, timeout):
            nonlocal asked
            asked += 1
            if asked - 1 == number and not after:
                worker._process.kill()
            if asked - 1 == number and after:
                worker._connection.send((function, item))
                worker._process.kill()
                raise EOFError
            return plain(worker, function, item, timeout)

        with mock.patch.object(processes._Worker, "_ask", ask):
            called = call(*IN_PROCESSES.words)
        return called, asked > number

    clean = run_clean(IN_PROCESSES, ready, work)
    for number, after in ((n, after) for n in count() for after in (False, True)):
        # In a forked process: the server that starts workers must not be a child of this one.
        with job_folder(IN_PROCESSES, ready, work / "run") as folder, describing_in_processes():
            called, killed = run_in_fork(lambda n=number, a=after: run(n, a), work / "output")
            wrong = called.err[-300:] if called.status else ""
            wrong = wrong or find_difference(clean, snapshot(folder))
        if not killed:
            break
        yield f"task {number}", wrong
    if number == 0:
        raise AssertionError("no worker process was started")


def time_run(job: Job, ready: Path, work: Path) -> float:
    """Return the seconds that a job takes in a forked process."""
    with job_folder(job, ready, work / "run"), describing_in_processes():
        began = time.monotonic()
        called, _ = run_in_fork(lambda: (call(*job.words), True), work / "output")
        require_success(called)
        return time.monotonic() - began


def check_kill(clean: CleanRun, ready: Path, work: Path, seconds: float) -> tuple[bool, str]:
    """Kill a job after some seconds, and resume it; return if it was running, and the problem."""
    job = clean.job
    with job_folder(job, ready, work / "run") as folder, describing_in_processes():
        child = start_fork(lambda: (call(*job.words), True), work / "output")
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        called, _ = wait_for_fork(child, work / "output")
        killed = called.status == -signal.SIGKILL
        wrong = check_exit(called, Fault(0, KILL_AFTER)) or find_lost_input(clean, snapshot(folder))
        if wrong:
            return killed, wrong
        for words in with_threads(job, 3).retries:
            again, _ = run_in_fork(lambda words=words: (call(*words), True), work / "output")
            if again.status != 2:
                break
        wrong = again.err[-300:] if again.status else find_difference(clean, snapshot(folder))
        return killed, wrong


def list_pairs() -> list[tuple[Job, Job]]:
    """Return all pairs of jobs, each with itself too."""
    quick = [job for job in JOBS if job.name != "demo"]
    return list(combinations_with_replacement([*quick, *REWRITES], 2))


def check_pair(first: Job, second: Job, ready: Path, work: Path, draw: Random) -> str:
    """Run two jobs at once in the same folder; return the problem, or an empty string."""
    needs = list(dict.fromkeys([*first.needs, *second.needs]))
    names = [need.partition("=")[2] or need for need in needs]
    needs = [need for n, need in enumerate(needs) if names.index(names[n]) == n]
    both = Job(f"{first.name} and {second.name}", "", tuple(needs))
    with job_folder(both, ready, work / "run") as folder:
        before = snapshot(folder)
        children = []
        for number, job in enumerate((first, second)):
            output = work / f"output {number}"
            children.append((start_fork(lambda job=job: (call(*job.words), True), output), output))
            time.sleep(0.3 * draw.random() if number == 0 else 0)
        for child, output in children:
            called, _ = wait_for_fork(child, output)
            if wrong := check_exit(called, Fault(0, "")):
                return wrong
        after = snapshot(folder)
        written: tuple[str, ...] = ("new",)
        if "report model" in (first.name, second.name):
            written += ("model/report.html",)  # the page of a model is always replaced
        if first in REWRITES or second in REWRITES:
            written += ("model", "rows.store")
        for name, content in before.items():
            if not name.startswith(written) and after.get(name) != content:
                return f"{name} was changed"
        left = [name for name in after if name.endswith((".part", ".lock"))]
        return f"left over {left[:3]}" if left else check_readable(folder)


def check_readable(folder: Path) -> str:
    """Return which store or model cannot be read, or an empty string."""
    for path in folder.iterdir():
        try:
            if (path / "store.json").exists():
                store = Store.open(path)
                for _ in store.rows().blocks(64):
                    pass
            if (path / "config.json").exists():
                load_model(path)
        except InputError as error:
            return f"{path.name} is torn: {error}"
    return ""
