"""Runs of a job with a single fault, and the checks after it.

Whatever the fault is, the inputs stay as they were, and the same command, with
``--resume`` where it has that, ends with the bytes of a clean run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.robustness.calling import Called, call
from tests.robustness.faults import Fault, watched
from tests.robustness.inputs import snapshot
from tests.robustness.jobs import Job, require_success
from tests.robustness.process_timeout import ProcessTimeout

SECONDS = 120
"""CPU seconds after which a run counts as hung."""


@dataclass
class CleanRun:
    """The result of a job without a fault.

    Attributes
    ----------
    before, after : the files, by path.
    reproducible : the new or changed files whose bytes do not depend on the time.
    calls : its calls of the file system, by kind and path.
    faults : those to try.
    """

    job: Job
    before: dict[str, bytes]
    after: dict[str, bytes]
    reproducible: dict[str, bytes]
    calls: list[tuple[str, str]]
    faults: list[Fault] = field(default_factory=list)

    def is_reported(self, fault: Fault, called: Called) -> bool:
        """Return whether a successful run reports the input that it could not read."""
        action, path = self.calls[fault.number]
        inner = path.partition("/")[2] or path
        return action in ("read", "list") and inner in called.out + called.err


@contextlib.contextmanager
def job_folder(job: Job, ready: Path, folder: Path) -> Iterator[Path]:
    """Yield a new folder with the inputs of a job; it is the current folder meanwhile."""
    folder.mkdir()
    job.copy_inputs(ready, folder)
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)
        shutil.rmtree(folder)


def has_timestamps(name: str) -> bool:
    """Return whether a file contains times, so that it differs between runs."""
    measured = ("evidence.json", "tuning.json", "comparison.json")
    return name.endswith((*measured, ".html"))


def run_clean(job: Job, ready: Path, work: Path) -> CleanRun:
    """Run a job twice without a fault: files that differ contain times."""
    found = []
    for _ in range(2):
        with job_folder(job, ready, work / "run"):
            before = snapshot(work / "run")
            with watched(work / "run") as watch:
                require_success(call(*job.words))
            found.append((before, snapshot(work / "run"), watch))
    (before, after, watch), (_, again, _) = found
    reproducible = {
        name: content
        for name, content in after.items()
        if again.get(name) == content and before.get(name) != content and not has_timestamps(name)
    }
    faults = list(watch.faults())
    if job.alike is not None:
        selected = select_calls(watch.calls, job.alike)
        faults = [fault for fault in faults if fault.number in selected]
    return CleanRun(job, before, after, reproducible, watch.calls, faults)


def select_calls(calls: list[tuple[str, str]], alike: str) -> set[int]:
    """Return the numbers of the calls at which faults are tried.

    These are all calls outside of the folder `alike`. Of those inside, calls of one kind at
    files of one split are alike, if they are the first ones at their files, the second ones, and so
    on: all images are written, then all are read to be described, and later to be shown. The first
    and the last of these are selected.
    """
    seen: Counter[tuple[str, str]] = Counter()
    groups: dict[object, list[int]] = {}
    for number, (action, path) in enumerate(calls):
        inner = os.path.relpath(path, alike).split("/")
        key: object = number
        if inner[0] not in ("..", "."):
            key = action, inner[0], len(inner), seen[action, path]
            seen[action, path] += 1
        groups.setdefault(key, []).append(number)
    return {number for group in groups.values() for number in (group[0], group[-1])}


def check_fault(clean: CleanRun, fault: Fault, ready: Path, work: Path, *, fork: bool) -> str:
    """Run a job with a fault, and then again; return a problem, or an empty string.

    Parameters
    ----------
    fork : whether to fork for each run, as is necessary for a run that is killed; a run in this
        process takes half the time.
    """
    job = clean.job

    def run(function: Callable[[], tuple[Called, bool]], in_fork: bool) -> tuple[Called, bool]:
        return run_in_fork(function, work / "output") if in_fork else function()

    with job_folder(job, ready, work / "run") as folder:
        called, happened = run(lambda: _run(job, folder, fault), fork or fault.kills)
        wrong = check_exit(called, fault) if happened else ""
        wrong = wrong or find_lost_input(clean, snapshot(folder))
        if wrong:
            return wrong
        if called.status == 0 and (
            clean.is_reported(fault, called) or not find_difference(clean, snapshot(folder))
        ):
            return ""
        for words in job.retries:
            again, _ = run(lambda words=words: (call(*words), True), fork)
            if again.status != 2:
                break
        if again.status:
            return f"cannot be run again: {again.err[-300:]}"
        return find_difference(clean, snapshot(folder), clean.calls[fault.number][1])


def _run(job: Job, folder: Path, fault: Fault) -> tuple[Called, bool]:
    with watched(folder, fault) as watch:
        called = call(*job.words)
    return called, watch.happened


def check_exit(called: Called, fault: Fault) -> str:
    """Return what is wrong with the exit status and the messages of a run with a fault."""
    if called.status == -signal.SIGKILL and fault.kills:
        return ""
    output = called.out + called.err
    if called.status not in (0, 1, 2):
        return f"status {called.status}: {output[-300:]}"
    if "bug in myriad" in output or "Traceback" in output:
        return output[-400:]
    last = called.err.rstrip().rpartition("\n")[2]
    if called.status and not (last.startswith("Error: ") or '"error"' in called.out):
        return f"no sentence: {output[-300:]}"
    return ""


def find_lost_input(clean: CleanRun, found: dict[str, bytes]) -> str:
    """Return which input was lost or changed, or an empty string."""
    for name, content in clean.before.items():
        if name.startswith("new"):  # an output that is replaced may be in the middle of two renames
            continue
        if clean.after.get(name) == content and found.get(name) != content:
            return f"{name} was {'changed' if name in found else 'lost'}"
    return ""


def find_difference(clean: CleanRun, found: dict[str, bytes], broken: str = "") -> str:
    """Return how the result differs from that of a clean run, or an empty string.

    Parameters
    ----------
    broken : path of the file or folder at which the fault was. One that is hidden may be left over:
        what could not be removed may stay.
    """
    missing = sorted(clean.after.keys() - found.keys())
    more = sorted(found.keys() - clean.after.keys())
    if any(part.startswith(".") for part in Path(broken).parts):
        more = [name for name in more if name != broken and not name.startswith(f"{broken}/")]
    changed = [name for name, content in clean.reproducible.items() if found.get(name) != content]
    if not (missing or more or changed):
        return ""
    return f"missing {missing[:3]}, left over {more[:3]}, different {changed[:3]}"


def run_in_fork(work: Callable[[], tuple[Called, bool]], output: Path) -> tuple[Called, bool]:
    """Run a function in a forked process, so that it can be killed; return its result."""
    return wait_for_fork(start_fork(work, output), output)


def start_fork(work: Callable[[], tuple[Called, bool]], output: Path) -> int:
    """Start a function in a forked process, which writes its result to `output`; return its pid."""
    output.mkdir(exist_ok=True)
    for path in output.iterdir():
        path.unlink()
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        called, happened = work()
        (output / "out").write_text(called.out, errors="backslashreplace")
        (output / "err").write_text(called.err, errors="backslashreplace")
        (output / "happened").write_text("yes" if happened else "")
        status = called.status
    except BaseException:
        (output / "err").write_text(traceback.format_exc())
    finally:
        os._exit(status)


def wait_for_fork(child: int, output: Path) -> tuple[Called, bool]:
    """Return the result of a forked process, and whether its fault happened."""
    status = _wait(child)
    out, err, happened = (
        path.read_text() if path.exists() else ""
        for path in (output / "out", output / "err", output / "happened")
    )
    return Called(status, out, err), status == -signal.SIGKILL or bool(happened)


def _wait(child: int) -> int:
    """Return the exit status of a forked process; one that does not end is aborted."""
    timeout = ProcessTimeout(child, SECONDS)
    while not timeout.is_expired():
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGABRT)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
