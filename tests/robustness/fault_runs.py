"""Runs of a job with one fault, and what must be true after it.

The fault is the only one. Whatever it is, the inputs stay as they were, and the same command, with
``--resume`` where it has that, ends with the bytes of an unbroken run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.robustness.calling import Called, call
from tests.robustness.faults import Fault, watched
from tests.robustness.jobs import Job, must
from tests.robustness.patience import Patience
from tests.robustness.scenes import snapshot

SECONDS = 120
"""After which a run counts as one that does not end."""


@dataclass
class Unbroken:
    """What a job makes without a fault.

    Attributes
    ----------
    before, after : the files, by path.
    lasting : the new or changed files without times in them.
    calls : its calls of the file system, by kind and path.
    """

    job: Job
    before: dict[str, bytes]
    after: dict[str, bytes]
    lasting: dict[str, bytes]
    calls: list[tuple[str, str]]
    faults: list[Fault] = field(default_factory=list)

    def is_told(self, fault: Fault, called: Called) -> bool:
        """Return whether a run that ended well names the input that it could not read."""
        action, place = self.calls[fault.number]
        inner = place.partition("/")[2] or place
        return action in ("read", "list") and inner in called.out + called.err


@contextlib.contextmanager
def laid_out(job: Job, ready: Path, folder: Path) -> Iterator[Path]:
    """Yield a new folder with the inputs of a job, which is the current one for a while."""
    folder.mkdir()
    job.lay_out(ready, folder)
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)
        shutil.rmtree(folder)


def is_dated(name: str) -> bool:
    """Return whether a file says when it was made, so that it differs between runs."""
    return name.endswith(("evidence.json", ".html"))


def run_unbroken(job: Job, ready: Path, work: Path) -> Unbroken:
    """Run a job twice without a fault: what differs has times in it."""
    found = []
    for _ in range(2):
        with laid_out(job, ready, work / "run"):
            before = snapshot(work / "run")
            with watched(work / "run") as watch:
                must(call(*job.words))
            found.append((before, snapshot(work / "run"), watch))
    (before, after, watch), (_, again, _) = found
    lasting = {
        name: content
        for name, content in after.items()
        if again.get(name) == content and before.get(name) != content and not is_dated(name)
    }
    return Unbroken(job, before, after, lasting, watch.calls, list(watch.faults()))


def check_fault(unbroken: Unbroken, fault: Fault, ready: Path, work: Path, *, fork: bool) -> str:
    """Run a job with a fault, and then again; return what is wrong, or nothing.

    Parameters
    ----------
    fork : whether each run is a copy of this process, as a run that is killed must be; a run in
        this process itself takes half the time.
    """
    job = unbroken.job

    def run(work_of: Callable[[], tuple[Called, bool]], apart: bool) -> tuple[Called, bool]:
        return run_apart(work_of, work / "told") if apart else work_of()

    with laid_out(job, ready, work / "run") as folder:
        called, happened = run(lambda: _run(job, folder, fault), fork or fault.kills)
        wrong = judge(called, fault) if happened else ""
        wrong = wrong or lost(unbroken, snapshot(folder))
        if wrong:
            return wrong
        if called.status == 0 and (
            unbroken.is_told(fault, called) or not differs(unbroken, snapshot(folder))
        ):
            return ""
        for words in (job.words_again, job.words, [*job.words_again, "--overwrite"]):
            again, _ = run(lambda words=words: (call(*words), True), fork)
            if again.status != 2:  # it may be refused: too little was done to resume it
                break
        if again.status:
            return f"cannot be run again: {again.err[-300:]}"
        return differs(unbroken, snapshot(folder), unbroken.calls[fault.number][1])


def _run(job: Job, folder: Path, fault: Fault) -> tuple[Called, bool]:
    with watched(folder, fault) as watch:
        called = call(*job.words)
    return called, watch.happened


def judge(called: Called, fault: Fault) -> str:
    """Return what is wrong with the end of a run that had a fault."""
    if called.status == -signal.SIGKILL and fault.kills:
        return ""
    told = called.out + called.err
    if called.status not in (0, 1, 2):
        return f"status {called.status}: {told[-300:]}"
    if "bug in myriad" in told or "Traceback" in told:
        return told[-400:]
    last = called.err.rstrip().rpartition("\n")[2]
    if called.status and not (last.startswith("Error: ") or '"error"' in called.out):
        return f"no sentence: {told[-300:]}"
    return ""


def lost(unbroken: Unbroken, found: dict[str, bytes]) -> str:
    """Return which input is gone or changed."""
    for name, content in unbroken.before.items():
        if name.startswith("new"):  # an output that is replaced may be in the middle of two renames
            continue
        if unbroken.after.get(name) == content and found.get(name) != content:
            return f"{name} was {'changed' if name in found else 'lost'}"
    return ""


def differs(unbroken: Unbroken, found: dict[str, bytes], broken: str = "") -> str:
    """Return how the result differs from that of an unbroken run.

    Parameters
    ----------
    broken : path of the file or folder at which the fault was. One that is hidden may be left over:
        what could not be removed may stay.
    """
    missing = sorted(unbroken.after.keys() - found.keys())
    more = sorted(found.keys() - unbroken.after.keys())
    if any(part.startswith(".") for part in Path(broken).parts):
        more = [name for name in more if name != broken and not name.startswith(f"{broken}/")]
    changed = [name for name, content in unbroken.lasting.items() if found.get(name) != content]
    if not (missing or more or changed):
        return ""
    return f"missing {missing[:3]}, left over {more[:3]}, different {changed[:3]}"


def run_apart(work: Callable[[], tuple[Called, bool]], told: Path) -> tuple[Called, bool]:
    """Do some work in a copy of this process, so that it can be killed."""
    return wait_apart(start_apart(work, told), told)


def start_apart(work: Callable[[], tuple[Called, bool]], told: Path) -> int:
    """Start some work in a copy of this process; return its number."""
    told.mkdir(exist_ok=True)
    for path in told.iterdir():
        path.unlink()
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        called, happened = work()
        (told / "out").write_text(called.out, errors="backslashreplace")
        (told / "err").write_text(called.err, errors="backslashreplace")
        (told / "happened").write_text("yes" if happened else "")
        status = called.status
    except BaseException:
        (told / "err").write_text(traceback.format_exc())
    finally:
        os._exit(status)


def wait_apart(child: int, told: Path) -> tuple[Called, bool]:
    """Return what came of work in a copy of this process, and whether its fault happened."""
    status = _wait(child)
    out, err, happened = (
        path.read_text() if path.exists() else ""
        for path in (told / "out", told / "err", told / "happened")
    )
    return Called(status, out, err), status == -signal.SIGKILL or bool(happened)


def _wait(child: int) -> int:
    """Return the exit status of a copy of this process; one that does not end is ended."""
    patience = Patience(child, SECONDS)
    while not patience.is_over():
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGABRT)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
