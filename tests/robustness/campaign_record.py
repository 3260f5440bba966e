"""The record of campaigns, ``benchmarks/results/campaign.json``, and the table in the docs.

Each run of ``python -m tests.robustness.campaign --record`` adds to the file, so that a campaign
can be run in slices. `tests.docs.test_recipes` checks the table of ``docs/guarantees.md``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from benchmarks.record import describe_run

from tests.robustness.jobs import JOBS

ROOT = Path(__file__).resolve().parent.parent.parent
RECORD = ROOT / "benchmarks" / "results" / "campaign.json"
PAGE = ROOT / "docs" / "guarantees.md"
ENOUGH = 600.0
"""CPU seconds that every reader is fuzzed for once, over all recorded runs."""
TITLES = {
    "faults": "single faults of the file system",
    "workers": "worker processes killed at a task",
    "kills": "runs killed at a random time, then resumed",
    "pairs": "pairs of commands at once on the same folders",
    "fuzz": "changed files",
    "http": "changed requests to the server",
}
"""What is counted, by the part of the campaign."""
_TABLE = re.compile(
    r"(<!-- campaign: written by a command -->\n).*?(<!-- end of campaign -->)", re.DOTALL
)


def add_run(tried: dict[str, dict[str, int]], found: list[str], **settings: Any) -> None:
    """Add a run to the record, and update the table of the page.

    Parameters
    ----------
    tried : by part, and by job or reader, how many were tried.
    found : a sentence for each fault.
    """
    runs = read_runs()
    runs.append({**describe_run(), **settings, "tried": tried, "found": found})
    RECORD.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(fill_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def read_runs() -> list[dict[str, Any]]:
    """Return the runs of the record, the oldest first."""
    if not RECORD.exists():
        return []
    runs: list[dict[str, Any]] = json.loads(RECORD.read_text(encoding="utf-8"))["runs"]
    return runs


def count_tried(job: str, possible: int, seed: int) -> int:
    """Return how many single faults of a job the recorded runs have tried, in the order of a seed.

    Parameters
    ----------
    possible : how many there are: runs of a time when there were more or fewer do not count.
    """
    same = [
        run
        for run in read_runs()
        if run["seed"] == seed and run.get("possible", {}).get(job) == possible
    ]
    return max((_count_of_run(run, job) for run in same), default=0)


def _count_of_run(run: dict[str, Any], job: str) -> int:
    """Return how many faults of a job were tried by a run, and by those that it resumed."""
    skipped: int = run.get("skipped", {}).get(job, 0)
    tried: int = run["tried"].get("faults", {}).get(job, 0)
    return skipped + tried


def list_tried(part: str) -> set[str]:
    """Return the names of jobs, pairs or readers that recorded runs have tried."""
    return {name for run in read_runs() for name in run["tried"].get(part, {})}


def make_table() -> str:
    """Return a row for each part: how many were tried in all runs, and of how many jobs."""
    lines = ["| tried | how many | jobs or readers | dates |", "|---|---|---|---|"]
    runs = read_runs()
    if not runs:
        return "No run is recorded yet."
    for part, title in TITLES.items():
        some = [run for run in runs if run["tried"].get(part)]
        names = {name for run in some for name in run["tried"][part]}
        total = sum(n for run in some for n in run["tried"][part].values())
        dates = sorted({run["date"][:10] for run in some})
        when = " to ".join(dict.fromkeys([dates[0], dates[-1]])) if dates else "never"
        lines.append(f"| {title} | {total:,} | {len(names) or ''} | {when} |")
    found = sum(len(run["found"]) for run in runs)
    sentences = [_describe_faults(runs), _describe_fuzzing()]
    sentences.append(f"Faults found in these runs, and fixed since: {found}.")
    return "\n".join([*lines, "", *filter(None, sentences)])


def _describe_faults(runs: list[dict[str, Any]]) -> str:
    """Return a sentence: for how many jobs all single faults were tried."""
    possible = {name: n for run in runs for name, n in run.get("possible", {}).items()}
    complete = {
        name
        for run in runs
        for name, n in run.get("possible", {}).items()
        if _count_of_run(run, name) >= n
    }
    if not possible:
        return ""
    total = sum(possible[name] for name in complete)
    return f"All single faults, {total:,}, were tried for {len(complete)} of {len(JOBS)} jobs."


def sum_cpu_seconds() -> dict[str, float]:
    """Return the CPU time that each reader, HTTP included, was fuzzed for in all recorded runs."""
    seconds: dict[str, float] = {}
    for run in read_runs():
        for name, more in run.get("cpu_seconds", {}).items():
            seconds[name] = seconds.get(name, 0.0) + more
    return seconds


def count_files(part: str = "fuzz") -> dict[str, int]:
    """Return how many changed files, or requests, each reader has read in all runs."""
    files: dict[str, int] = {}
    for run in read_runs():
        for name, more in run["tried"].get(part, {}).items():
            files[name] = files.get(name, 0) + more
    return files


def _describe_fuzzing() -> str:
    """Return a sentence: how much CPU time fuzzing took, as far as it is recorded."""
    seconds = sum_cpu_seconds()
    if not seconds:
        return ""
    least, most = min(seconds.values()) / 60, max(seconds.values()) / 60
    enough = sum(used >= ENOUGH for used in seconds.values())
    return (
        f"{len(seconds)} readers were fuzzed for {least:.1f} to {most:.1f} minutes of CPU time "
        f"each, {sum(seconds.values()) / 60:.0f} minutes in all; {enough or 'none'} of them for "
        f"the {ENOUGH / 60:.0f} minutes that each is to have."
    )


def fill_table(text: str) -> str:
    """Return the text of the page with an updated table."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{make_table()}\n\n{found[2]}", text)
