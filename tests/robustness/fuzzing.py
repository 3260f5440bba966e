"""Fuzzing of readers for some seconds each, in a forked process that may crash or hang.

A changed file that reaches lines of the package that no other file has reached is kept and changed
further, also by later runs, and so are some files with a new error message and some that were read.
The files so come to look like what the reader checks for.
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
import warnings
from collections import Counter
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from random import Random

from tests.robustness.mutation import Mutate, mutate_bytes
from tests.robustness.process_timeout import ProcessTimeout
from tests.robustness.reached_lines import ReachedLines
from tests.robustness.readers import Reader

SLOW = 10
"""CPU seconds that reading may take."""
HUNG = 30
"""Seconds without a sign of life after which a process counts as hung; see `ProcessTimeout`."""
MEMORY = 1 << 20
"""Memory in kB that reading may take."""
LARGEST = 1 << 20
MAX_KEPT = 100
"""Changed files that are kept for each reason."""


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
    lines : the number of lines of the package that a process has reached, at most.
    """

    n: int = 0
    seconds: float = 0.0
    faults: dict[str, Path] = field(default_factory=dict)
    answers: Counter[str] = field(default_factory=Counter)
    lines: int = 0

    @property
    def read(self) -> float:
        """The share of files that were read."""
        return self.answers["''"] / max(1, self.answers.total())

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
    found : its folder ``reached`` keeps the files that reached new lines, for the next call.
    seconds : of CPU time, which does not depend on how busy the machine is.
    ends : a limit of `time.monotonic`.
    """
    result = Fuzzed()
    kinds = (reader.make, *reader.others)
    while (left := seconds - result.seconds) > 0 and time.monotonic() < ends:
        work.mkdir()
        kind = seed % len(kinds)
        kinds[kind](ready, work)
        kept = found / "reached" / str(kind)
        kept.mkdir(parents=True, exist_ok=True)
        share = min(left, max(1.0, seconds / len(kinds)))
        log, child = work / "log", os.fork()
        if child == 0:
            try:
                _read_many(reader, work, Random(seed), share, ends, log, kept)
            except BaseException:  # of the fuzzing itself
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        died, used = _watch(child, log)
        result.seconds += used
        lines = log.read_text().splitlines() if log.exists() else []
        answers = [line.removeprefix("read ") for line in lines if line.startswith("read ")]
        result.n += len(answers)
        result.answers.update(answers)
        reached = [int(line.removeprefix("lines ")) for line in lines if line.startswith("lines ")]
        result.lines = max([result.lines, *reached])
        faults = [line.removeprefix("fault ") for line in lines if line.startswith("fault ")]
        if died:
            content = (work / reader.file).read_bytes()
            faults.append(f"{died} {_keep(work, content)}")
        for fault in faults:
            what, _, name = fault.rpartition(" ")
            result.faults[what] = found / name
            shutil.move(work / name, found / name)  # perhaps to another file system
        shutil.rmtree(work)
        seed += 1
    return result


class _Corpus:
    """The files to change: valid ones, and changed ones that are worth to be changed further."""

    def __init__(self, valid: list[bytes]) -> None:
        self._valid = valid
        self._further: list[bytes] = []  # reached new lines
        self._refused: list[bytes] = []  # had a new error message
        self._read: list[bytes] = []

    def choose(self, draw: Random) -> bytes:
        kept = draw.choice([self._valid, self._valid, self._further, self._refused, self._read])
        return draw.choice(kept or self._valid)

    def keep(self, content: bytes, draw: Random, *, further: bool, said: bool, read: bool) -> None:
        """Keep a file that reached new lines, said something new or was read."""
        for wanted, kept in (
            (further, self._further),
            (said, self._refused),
            (read, self._read),
        ):
            if wanted and len(kept) < MAX_KEPT:
                kept.append(content)
            elif wanted:
                kept[draw.randrange(MAX_KEPT)] = content


def _read_many(
    reader: Reader,
    folder: Path,
    draw: Random,
    seconds: float,
    ends: float,
    log: Path,
    kept: Path,
) -> None:
    seconds += time.process_time()
    signal.signal(signal.SIGPROF, _raise_slow)
    warnings.simplefilter("ignore")  # of libraries that change files
    os.chdir(folder)
    valid = [(folder / reader.file).read_bytes(), *reader.seeds]
    corpus, reached = _Corpus(valid), ReachedLines()
    for content in valid:
        with reached:
            reader.try_content(folder, content)
    n_lines = reached.n
    earlier = [path.read_bytes() for path in sorted(kept.iterdir())]
    said: set[str] = set()
    known: set[str] = set()
    with log.open("w", buffering=1) as stream:
        while earlier or (time.process_time() < seconds and time.monotonic() < ends):
            if earlier:
                content = earlier.pop()
            else:
                content = _change(reader.mutate, corpus.choose(draw), draw)
            before, kind = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "fault"
            signal.setitimer(signal.ITIMER_PROF, SLOW)
            try:
                with reached, warnings.catch_warnings():
                    warnings.simplefilter("error")  # users would see them before a sentence
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
            if reached.n > n_lines:
                _keep(kept, content)
            corpus.keep(
                content,
                draw,
                further=reached.n > n_lines,
                said=kind not in said,
                read=not kind,
            )
            said.add(kind)
            n_lines = reached.n
        stream.write(f"lines {n_lines}\n")


def _change(mutate: Mutate, content: bytes, draw: Random) -> bytes:
    for _ in range(draw.choice([1, 1, 2])):
        try:
            content = mutate(content, draw)
        except Exception:  # of a library that reads what was changed before
            content = mutate_bytes(content, draw)
    return content[:LARGEST]


def _keep(folder: Path, content: bytes) -> str:
    """Write a file whose name is its checksum; return the name."""
    name = f"{hashlib.sha256(content).hexdigest()[:12]}.bin"
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
