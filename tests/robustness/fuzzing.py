"""Fuzzing of readers for some seconds each, in a forked process that may crash or hang.

A changed file that causes a new error message is kept and changed further, so the files of a run
come to look like what the reader checks for.
"""

from __future__ import annotations

import hashlib
import os
import re
import resource
import shutil
import signal
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from random import Random

from tests.robustness.mutation import Mutate
from tests.robustness.process_timeout import ProcessTimeout
from tests.robustness.readers import Reader

SLOW = 10
"""CPU seconds that reading may take."""
HUNG = 30
"""Seconds without a sign of life after which a process counts as hung; see `ProcessTimeout`."""
MEMORY = 1 << 20
"""Memory in kB that reading may take."""
LARGEST = 1 << 20
MAX_KEPT = 400


class Slow(Exception):
    """Reading takes too long."""


@dataclass
class Fuzzed:
    """The result of fuzzing.

    Attributes
    ----------
    n : the number of files read.
    seconds : CPU time that it took.
    faults : by their description, a file that shows each.
    answers : how many files had each answer: the error message without its numbers and names, or
        "''" for a file that was read.
    """

    n: int = 0
    seconds: float = 0.0
    faults: dict[str, Path] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)

    @property
    def commonest(self) -> float:
        """The share of the most frequent error message: if large, the mutations reach little."""
        refused = [count for answer, count in self.answers.items() if answer != "''"]
        return max(refused, default=0) / max(1, self.answers.total())


def fuzz(
    reader: Reader,
    ready: Path,
    work: Path,
    found: Path,
    *,
    seconds: float,
    seed: int,
    ends: float = inf,
) -> Fuzzed:
    """Read changed files for some seconds; contents that show a fault are written to `found`.

    Parameters
    ----------
    seconds : of CPU time, which does not depend on how busy the machine is.
    ends : a limit of `time.monotonic`.
    """
    result = Fuzzed()
    while (left := seconds - result.seconds) > 0 and time.monotonic() < ends:
        work.mkdir()
        reader.make(ready, work)
        log, child = work / "log", os.fork()
        if child == 0:
            try:
                _read_many(reader, work, Random(seed), left, ends, log)
            finally:
                os._exit(0)
        died, used = _watch(child, log)
        result.seconds += used
        lines = log.read_text().splitlines() if log.exists() else []
        answers = [line.removeprefix("read ") for line in lines if line.startswith("read ")]
        result.n += len(answers)
        result.answers.update(answers)
        faults = [line.removeprefix("fault ") for line in lines if line.startswith("fault ")]
        if died:
            content = (work / reader.file).read_bytes()
            faults.append(f"{died} {_keep(work, content)}")
        for fault in faults:
            what, _, name = fault.rpartition(" ")
            found.mkdir(parents=True, exist_ok=True)
            result.faults[what] = found / name
            shutil.move(work / name, found / name)  # perhaps to another file system
        shutil.rmtree(work)
        seed += 1
    return result


def _read_many(
    reader: Reader, folder: Path, draw: Random, seconds: float, ends: float, log: Path
) -> None:
    seconds += time.process_time()
    signal.signal(signal.SIGPROF, _raise_slow)
    os.chdir(folder)
    corpus = [(folder / reader.file).read_bytes()]
    reader.try_content(folder, corpus[0])
    said: set[str] = set()
    known: set[str] = set()
    with log.open("w", buffering=1) as stream:
        while time.process_time() < seconds and time.monotonic() < ends:
            content = _change(reader.mutate, draw.choice(corpus), draw)
            before, kind = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "fault"
            signal.setitimer(signal.ITIMER_PROF, SLOW)
            try:
                answer = reader.try_content(folder, content)
                kind = re.sub(r"\d+|'[^']*'|\"[^\"]*\"|\s+", " ", answer)[:120]
            except BaseException as error:
                last = traceback.extract_tb(error.__traceback__)[-1]
                what = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
                if what not in known:
                    known.add(what)
                    name = _keep(folder, content)
                    stream.write(f"fault {what} {name}\n")
                continue
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
                stream.write(f"read {kind!a}\n")
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before > MEMORY:
                stream.write(f"fault memory {_keep(folder, content)}\n")
            if kind not in said and len(corpus) < MAX_KEPT:
                said.add(kind)
                corpus.append(content)


def _change(mutate: Mutate, content: bytes, draw: Random) -> bytes:
    for _ in range(draw.choice([1, 1, 2])):
        content = mutate(content, draw)
    return content[:LARGEST]


def _keep(folder: Path, content: bytes) -> str:
    name = f"{hashlib.sha256(content).hexdigest()[:12]}.fault"
    (folder / name).write_bytes(content)
    return name


def _raise_slow(number: int, frame: object) -> None:
    raise Slow


def _watch(child: int, log: Path) -> tuple[str, float]:
    """Wait for a process; return how it died, empty if it succeeded, and the CPU time it took.

    It is killed if the wait is interrupted.
    """
    try:
        return _wait(child, log)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise


def _wait(child: int, log: Path) -> tuple[str, float]:
    size, timeout = -1, ProcessTimeout(child, HUNG)
    while True:
        pid, status, used = os.wait4(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return "" if code == 0 else f"crash {code}", used.ru_utime + used.ru_stime
        now = log.stat().st_size if log.exists() else 0
        if now != size:
            size = now
            timeout.reset()
        elif timeout.is_expired():
            os.kill(child, signal.SIGKILL)
            _, _, used = os.wait4(child, 0)
            return "hang", used.ru_utime + used.ru_stime
        time.sleep(0.05)
