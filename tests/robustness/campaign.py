"""The campaign: faults, fuzzing, kills and races of every verb, for a given time.

    python -m tests.robustness.campaign --minutes 30
    python -m tests.robustness.campaign --parts faults --jobs "train over" --minutes 5

Parts: `faults` makes every call of the file system of every verb fail once; `workers` kills
worker processes at every task; `kills` kills runs at random times; `pairs` runs every two verbs at
once on the same folders; `fuzz` changes the files of every reader; `http` sends requests to the
server. What is found is printed, and the files that show it are kept in the folder ``--out``. With
``--record`` what was tried is added to ``benchmarks/results/campaign.json`` and to the page
``docs/guarantees.md``, also after Ctrl-C; ``--resume`` continues with the single faults and pairs
that are left, so that all can be tried in several runs, and fuzzes the readers first that had the
least CPU time so far. The exit status is 1 if anything was found.

Runs are made by a process that has loaded and compiled everything; runs that are killed, by forks
of it. With ``TMPDIR=/dev/shm`` files are in memory, and fuzzing takes two thirds of the time.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import tests.conftest  # noqa: F401 - chooses the cache of kernels

if TYPE_CHECKING:
    from tests.robustness.fault_runs import CleanRun
    from tests.robustness.faults import Fault
    from tests.robustness.fuzzing import Fuzzed
    from tests.robustness.jobs import Job

PARTS = ("faults", "workers", "kills", "pairs", "fuzz", "http")
SHARES = {"faults": 0.5, "workers": 0.05, "kills": 0.1, "pairs": 0.15, "fuzz": 0.15, "http": 0.05}
"""The share of each part of the time; of the remaining parts, in proportion."""
SLICE = 20.0
"""CPU seconds that a reader is fuzzed for at a time, at most."""


@dataclass
class Campaign:
    """The state of a campaign: its folders, its time and its findings.

    Attributes
    ----------
    tried : by part, and by job or reader, how many were tried.
    possible : by job, how many single faults it has.
    skipped : by job, how many of these earlier runs have tried.
    cpu_seconds : by reader, the CPU time that it was fuzzed for.
    """

    ready: Path
    work: Path
    out: Path
    seed: int
    jobs: tuple[str, ...] = ()
    resume: bool = False
    counts: dict[str, str] = field(default_factory=dict)
    tried: dict[str, dict[str, int]] = field(default_factory=dict)
    possible: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)

    def log(self, text: str) -> None:
        """Print a line at once."""
        print(text, flush=True)

    def count(self, part: str, name: str, n: int = 1) -> None:
        """Count what was tried, by part and by job or reader."""
        if n:
            counts = self.tried.setdefault(part, {})
            counts[name] = counts.get(name, 0) + n

    def report(self, what: str, wrong: str) -> None:
        """Record what is wrong, if anything is."""
        if wrong:
            sentence = f"{what}: {' | '.join(wrong.strip().splitlines())}"
            self.found.append(sentence)
            self.log(f"FOUND {sentence}")
            with (self.out / "found.txt").open("a") as stream:
                stream.write(sentence + "\n")


def run_faults(campaign: Campaign, ends: float) -> None:
    """Make every call fail, in random order within a job; jobs have equal shares of the time."""
    from tests.robustness.campaign_record import count_tried
    from tests.robustness.fault_runs import run_clean
    from tests.robustness.jobs import JOBS

    done = total = 0
    jobs = [job for job in JOBS if not campaign.jobs or job.name in campaign.jobs]
    for number, job in enumerate(jobs):
        clean = run_clean(job, campaign.ready, campaign.work)
        faults = list(clean.faults)
        Random(campaign.seed).shuffle(faults)
        possible = campaign.possible[job.name] = len(faults)
        if campaign.resume:
            skipped = campaign.skipped[job.name] = count_tried(job.name, possible, campaign.seed)
            faults = faults[skipped:]
        total += len(faults)
        _freeze_garbage()
        n, now = 0, time.monotonic()
        for fault in _until(now + (ends - now) / (len(jobs) - number), faults):
            n += 1
            wrong = _check_twice(clean, fault, campaign)
            campaign.count("faults", job.name)
            action, path = clean.calls[fault.number]
            campaign.report(f"{job.name}, {fault.kind} at {action} {path} ({fault.number})", wrong)
            if n % 100 == 0:
                campaign.log(f"faults: {job.name}: {n} ...")
        done += n
        campaign.log(f"faults: {job.name}: {n} of {len(faults)}")
    campaign.counts["faults"] = f"{done} of {total} single faults"


def _check_twice(clean: CleanRun, fault: Fault, campaign: Campaign) -> str:
    """Check a fault in this process; a problem is confirmed in forked processes."""
    from tests.robustness.fault_runs import SECONDS, check_fault

    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        wrong = check_fault(clean, fault, campaign.ready, campaign.work, fork=False)
    except TookTooLong:
        wrong = "does not end"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return wrong and check_fault(clean, fault, campaign.ready, campaign.work, fork=True)


class TookTooLong(BaseException):
    """Raised in a run that has used up its CPU time."""


class Stopped(BaseException):
    """Raised by Ctrl-C; the command would handle a `KeyboardInterrupt` itself."""


def _end_run(number: int, frame: object) -> None:
    raise Stopped if number == signal.SIGINT else TookTooLong


def _freeze_garbage() -> None:
    """Exclude all current objects from garbage collection: they are many, and they stay."""
    gc.collect()
    gc.freeze()


def run_workers(campaign: Campaign, ends: float) -> None:
    """Kill a worker at each of its tasks."""
    from tests.robustness.process_runs import check_dying_workers

    n = 0
    for what, wrong in _until(ends, check_dying_workers(campaign.ready, campaign.work)):
        n += 1
        campaign.report(f"worker killed at {what}", wrong)
    campaign.count("workers", "train workers", n)
    campaign.counts["workers"] = f"{n} workers killed"


def run_kills(campaign: Campaign, ends: float) -> None:
    """Kill runs with two threads or workers at random times; jobs have equal shares of the time."""
    from tests.robustness.fault_runs import run_clean
    from tests.robustness.process_runs import KILLED, check_kill, time_run

    draw, n = Random(campaign.seed), 0
    jobs = [job for job in KILLED if not campaign.jobs or job.name in campaign.jobs]
    for number, job in enumerate(jobs):
        clean = run_clean(job, campaign.ready, campaign.work)
        longest = time_run(job, campaign.ready, campaign.work)
        now = time.monotonic()
        share = now + (ends - now) / (len(jobs) - number)
        while time.monotonic() < share:
            seconds = longest * draw.random()
            killed, wrong = check_kill(clean, campaign.ready, campaign.work, seconds)
            what = f"{job.name}, killed after {seconds:.2f} of {longest:.2f} s"
            campaign.report(what, wrong)
            n += killed
            campaign.count("kills", job.name, killed)
        campaign.log(f"kills: {job.name}: {campaign.tried.get('kills', {}).get(job.name, 0)}")
    campaign.counts["kills"] = f"{n} runs killed"


def run_pairs(campaign: Campaign, ends: float) -> None:
    """Run two verbs at once; with ``--resume``, those pairs that no recorded run has tried."""
    from tests.robustness.campaign_record import list_tried
    from tests.robustness.process_runs import check_pair, list_pairs

    draw, pairs, n = Random(campaign.seed), list_pairs(), 0
    draw.shuffle(pairs)
    if campaign.resume:
        tried = list_tried("pairs")
        pairs = [pair for pair in pairs if _name_pair(*pair) not in tried]
    for first, second in _until(ends, pairs):
        n += 1
        wrong = check_pair(first, second, campaign.ready, campaign.work, draw)
        campaign.count("pairs", _name_pair(first, second))
        campaign.report(_name_pair(first, second), wrong)
        if n % 50 == 0:
            campaign.log(f"pairs: {n} ...")
    campaign.counts["pairs"] = f"{n} of {len(pairs)} pairs"


def _name_pair(first: Job, second: Job) -> str:
    return f"{first.name} and {second.name}"


def run_fuzz(campaign: Campaign, ends: float) -> None:
    """Fuzz the readers in turn until the time is over, those with the least CPU time first.

    With ``--resume``, the CPU time of recorded runs counts, and readers that have had `ENOUGH` are
    left out.
    """
    from tests.robustness.campaign_record import ENOUGH, count_files, sum_cpu_seconds
    from tests.robustness.readers import READERS

    before = sum_cpu_seconds() if campaign.resume else {}
    files = count_files()
    seconds = {name: before.get(name, 0.0) for name in READERS}
    names = [name for name in READERS if not campaign.jobs or name in campaign.jobs]
    while time.monotonic() < ends:
        turn = [name for name in names if not campaign.resume or seconds[name] < ENOUGH]
        if not turn:
            break
        for number, name in enumerate(sorted(turn, key=lambda name: seconds[name])):
            left = ends - time.monotonic()
            if left <= 0:
                break
            share = min(SLICE, max(1.0, left / (len(turn) - number)))
            seed = campaign.seed * 1_000_000 + files.get(name, 0)  # new files in a resumed run
            result = _fuzz_reader(campaign, name, share, seed, ends)
            seconds[name] += result.seconds
            files[name] = files.get(name, 0) + result.n
    total = sum(campaign.tried.get("fuzz", {}).values())
    campaign.counts["fuzz"] = f"{total} files for {len(campaign.cpu_seconds)} readers"


def _fuzz_reader(campaign: Campaign, name: str, seconds: float, seed: int, ends: float) -> Fuzzed:
    from tests.robustness.fuzzing import fuzz
    from tests.robustness.readers import READERS

    result = fuzz(
        READERS[name],
        campaign.ready,
        campaign.work / "fuzz",
        campaign.out / name.replace(" ", "-"),
        seconds=seconds,
        seed=seed,
        ends=ends,
    )
    campaign.count("fuzz", name, result.n)
    used = campaign.cpu_seconds.get(name, 0.0) + result.seconds
    campaign.cpu_seconds[name] = round(used, 1)
    campaign.log(
        f"fuzz: {name}: {result.n} files in {result.seconds:.0f} s of CPU time, "
        f"{len(result.answers)} kinds of answers, {result.read:.0%} were read, "
        f"{result.commonest:.0%} the most frequent refusal, {result.lines} lines reached"
    )
    for what, path in result.faults.items():
        campaign.report(f"{name}: {what}", str(path))
    return result


def run_http(campaign: Campaign, ends: float) -> None:
    """Send requests to the application, other ones than recorded runs."""
    from tests.robustness.campaign_record import count_files
    from tests.robustness.http_fuzzing import fuzz_http

    result = fuzz_http(
        campaign.ready / "model",
        campaign.work / "feedback",
        seconds=max(1.0, ends - time.monotonic()),
        seed=campaign.seed * 1_000_000 + count_files("http").get("serve", 0),
    )
    campaign.cpu_seconds["HTTP requests"] = round(result.seconds, 1)
    for what, path in result.faults.items():
        campaign.report(what, str(path))
    campaign.count("http", "serve", result.n)
    campaign.counts["http"] = f"{result.n} requests"


def _until(ends: float, items: Iterator | list) -> Iterator:
    """Yield items until the time is over."""
    for item in items:
        yield item
        if time.monotonic() > ends:
            return


RUNS: dict[str, Callable[[Campaign, float], None]] = {
    "faults": run_faults,
    "workers": run_workers,
    "kills": run_kills,
    "pairs": run_pairs,
    "fuzz": run_fuzz,
    "http": run_http,
}


def main(arguments: list[str]) -> int:
    """Run the campaign; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.robustness.campaign",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--jobs", default="", help="some jobs, or some readers; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("build/campaign"))
    parser.add_argument(
        "--record", action="store_true", help="add what was tried to benchmarks/results"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="skip single faults that recorded runs with the same seed have tried, and pairs of "
        "jobs, and begin with readers that they have fuzzed least",
    )
    given = parser.parse_args(arguments)
    parts = given.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    given.out.mkdir(parents=True, exist_ok=True)
    out = given.out.resolve()
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        ready, work = Path(folder, "ready"), Path(folder, "work")
        ready.mkdir()
        work.mkdir()
        os.chdir(ready)
        from tests.robustness.jobs import make_ready
        from tests.robustness.network_results import keeping_network_results

        opened.enter_context(keeping_network_results())
        make_ready(ready)
        os.chdir(work)
        signal.signal(signal.SIGPROF, _end_run)
        signal.signal(signal.SIGINT, _end_run)
        jobs = tuple(filter(None, given.jobs.split(",")))
        campaign = Campaign(ready, work, out, given.seed, jobs, given.resume)
        ends = time.monotonic() + 60 * given.minutes
        for number, part in enumerate(parts):
            left, now = parts[number:], time.monotonic()
            share = SHARES[part] / sum(SHARES[name] for name in left)
            try:
                RUNS[part](campaign, now + share * max(0.0, ends - now))
            except Stopped:
                campaign.log(f"{part}: interrupted")
                break
            except Exception:  # the other parts are run and recorded all the same
                campaign.report(part, traceback.format_exc())
        os.chdir(before)
    if given.record and (campaign.tried or campaign.found):
        from tests.robustness.campaign_record import add_run

        add_run(
            campaign.tried,
            campaign.found,
            possible=campaign.possible,
            skipped=campaign.skipped,
            cpu_seconds=campaign.cpu_seconds,
            seed=given.seed,
            minutes=given.minutes,
        )
    for part, count in campaign.counts.items():
        print(f"{part:8} {count}")
    print(f"found    {len(campaign.found)}")
    return int(bool(campaign.found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
