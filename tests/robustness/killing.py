"""Runs of ``myriad train`` that are killed at some moment, and their reproducible files."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.robustness.calling import Called, call_in, call_subprocess, start
from tests.robustness.inputs import write_images

CLASSES = tuple(f"class {letter}" for letter in "abcdef")
SETTINGS = {"components": 1, "regions": 8, "step": 24, "epochs": 3, "threads": 1}
TRAIN = ["train", "../images", "--out", "model"]
TRAIN += [word for name, value in SETTINGS.items() for word in (f"--{name}", str(value))]
"""Small, but with all steps of a run: a vocabulary, codebooks, two shards, a search."""

REPRODUCIBLE = ("model.store/*.arrow", "model.store/store.json", "model.store/recipe.safetensors")
REPRODUCIBLE += ("model/model.safetensors", "model/config.json")
"""Files without times in them: those of a resumed run must equal those of a clean one."""


def write_data(folder: Path) -> None:
    """Write 265 images, one of them bad: enough for two shards, and for codes."""
    write_images(folder / "images", CLASSES, n=44)
    (folder / "images" / CLASSES[0] / "bad.png").write_bytes(b"not a picture")


def train(folder: Path, *more: str) -> Called:
    """Train in a folder beside the data to the end, in this process."""
    return call_in(folder, *TRAIN, *more)


@dataclass(frozen=True)
class Moment:
    """A moment of a run: some seconds after it has written a number of lines of progress."""

    lines: int
    seconds: float


def kill_at(folder: Path, moment: Moment, *more: str) -> bool:
    """Start training and kill it at a moment; return whether it was still running."""
    process = start(*TRAIN, *more, cwd=folder)
    assert process.stderr is not None
    for _ in zip(range(moment.lines), process.stderr, strict=False):
        pass
    try:
        process.wait(timeout=moment.seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    assert process.returncode in (0, 2, -signal.SIGKILL)  # 2: the output exists already
    return process.returncode == -signal.SIGKILL


def reproducible_bytes(folder: Path) -> dict[str, bytes]:
    paths = [path for pattern in REPRODUCIBLE for path in folder.glob(pattern)]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def time_training(folder: Path) -> tuple[Called, float]:
    """Train in a subprocess; return its result, and the seconds it took."""
    began = time.perf_counter()
    called = call_subprocess(*TRAIN, cwd=folder)
    return called, time.perf_counter() - began


def processes_in(folder: Path) -> list[int]:
    """Return the processes whose current folder is this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/cwd") == str(folder.resolve()):
                found.append(int(pid))
        except OSError:
            continue
    return found


def wait_for_end(folder: Path) -> list[int]:
    """Wait for the processes that work in a folder to end; return those that do not."""
    while found := processes_in(folder):
        for pid in found:
            try:
                process = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            try:
                if not select.select([process], [], [], 60)[0]:  # it can be read once it has ended
                    return found
            finally:
                os.close(process)
    return []
