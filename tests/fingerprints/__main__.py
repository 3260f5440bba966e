"""The command: see the package's docstring."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
import time
from fnmatch import fnmatchcase
from pathlib import Path

import tests.conftest  # noqa: F401 - chooses a kernel cache for these sources, before Numba starts
from tests.fingerprints import codes, commands, estimators

THREADS = (1, 2)


@contextlib.contextmanager
def fixed_folder():
    """Yield a temporary folder whose name is the same in every run: stores name their sources."""
    folder = Path(tempfile.gettempdir()).resolve() / "myriad-fingerprints"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: list[str] | None = None) -> int:
    """Record fingerprints or compare them; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fingerprints")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the hashes as JSON")
    parser.add_argument("--check", type=Path, metavar="FILE", help="compare with these hashes")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only cases of these names")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    given = parser.parse_args(arguments)
    every = (*estimators.list_cases(), *codes.list_cases(), *commands.list_cases())
    cases = [case for case in every if fnmatchcase(case.name, given.only)]
    if given.list:
        print("\n".join(case.name for case in cases))
        return 0
    hashes, faults = record(cases)
    if given.out is not None:
        given.out.write_text(json.dumps(hashes, indent=1, sort_keys=True) + "\n")
    if given.check is not None:
        known = json.loads(given.check.read_text())
        if given.only != "*":
            names = {case.name for case in cases}
            known = {key: value for key, value in known.items() if belongs(key, names)}
        faults += compare(known, hashes)
    for fault in faults:
        print(fault)
    print(f"{len(cases)} cases, {len(hashes)} hashes, {len(faults)} faults")
    return 1 if faults else 0


def record(cases: list) -> tuple[dict[str, str], list[str]]:
    """Run the cases; return their hashes, and what failed or depends on the number of threads."""
    hashes: dict[str, str] = {}
    faults: list[str] = []
    with fixed_folder() as folder:
        for case in cases:
            began = time.perf_counter()
            first, *others = [case.fingerprint(n, folder) for n in THREADS]
            hashes |= first
            faults += [f"failed: {k}" for k, v in first.items() if v.startswith("failed")]
            for other in others:
                keys = sorted(k for k in {*first, *other} if first.get(k) != other.get(k))
                faults += [f"differs between 1 and 2 threads: {key}" for key in keys]
            print(f"{time.perf_counter() - began:6.2f} s  {case.name}", file=sys.stderr, flush=True)
    return hashes, faults


def compare(known: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return what differs."""
    faults = [f"missing: {key}" for key in sorted({*known} - {*found})]
    return faults + [f"differs: {k}" for k in sorted({*known} & {*found}) if known[k] != found[k]]


def belongs(key: str, names: set[str]) -> bool:
    """Return whether a key is of one of the cases: its name, or that and the part's name."""
    return key in names or key.rsplit(" ", 1)[0] in names


if __name__ == "__main__":
    sys.exit(main())
