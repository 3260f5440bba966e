"""A toy command on the frame of the real one: its only verb ends in every way a verb can end."""

import ctypes
import errno
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from myriad.cli.execution import execute
from myriad.cli.tables import print_facts, print_summary, print_table
from myriad.cli.verb import verb
from myriad.errors import InputError, WorkError
from myriad.pipelines.run import Run

TIMEOUT = 60
"""Seconds to wait for a signal that the test sends."""
HOSTILE = "a\nb\x1b[31m[bold]\u202ec"

FAILURES = {
    "input": InputError("data.csv has no column 'label'. Add one."),
    "work": WorkError("12 of 20 images are bad."),
    "hostile": InputError(f"{HOSTILE} is no image."),
    "full": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "out/shard"),
    "full-nameless": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    "forbidden": PermissionError(errno.EACCES, os.strerror(errno.EACCES), "out/model"),
    "read-only": OSError(errno.EROFS, os.strerror(errno.EROFS), "out/model"),
    "missing": FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "no/where"),
    "disk": OSError(errno.EIO, os.strerror(errno.EIO), "store/shard"),
    "nameless": OSError("3 requested and 2 written"),
    "pipe": BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)),
    "memory": MemoryError("Unable to allocate 7 TiB"),
    "bug": KeyError("lost"),
}


@dataclass
class Answer:
    run: Run
    n: int

    def to_json(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "seed": self.run.seed,
            "threads": self.run.threads,
            "overwrite": self.run.overwrite,
            "resume": self.run.resume,
            "lost": float("nan"),
            "path": Path("here"),
            "name": HOSTILE,
        }


def show(answer: Answer, run: Run) -> None:
    print_table(["name", "count"], [[HOSTILE, answer.n], ["plain", 1234]], title="Answer")
    print_facts({"Time": "12 s", "Loss": None})
    print_summary({"Model": "my model"}, [("myriad", "predict", "my model", "IMAGE")])


app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)


@app.callback()
def toy() -> None:
    """Play."""


@app.command("end")
@verb(show=show, writes=["out"], resumes=True)
def end(
    way: Annotated[str, typer.Argument(help="How to end.")] = "well",
    *,
    n: Annotated[int, typer.Option("-n", min=1, help="How many.")] = 3,
    run: Run,
) -> Answer:
    """End in some way."""
    if way == "talk":
        print("a library talks on stdout")
    if way in FAILURES:
        raise FAILURES[way]
    if way == "signal":
        os.kill(os.getpid(), signal.SIGINT)
    if way == "swallowed":
        swallow_signal()
    with run.progress.step("Counting [bold]", n, "images") as advance:
        for _ in range(n):
            if way == "watched":
                sys.stdin.readline()  # the test says when to take a step
            advance(1)
            if way == "wait":
                wait()
    run.progress.note("One image is bad.")
    return Answer(run, n)


@app.command("short")
@verb(show=show)
def short(*, run: Run) -> Answer:
    """Wait for an interruption that nothing can be resumed after."""
    wait(again=True)
    return Answer(run, 0)


def wait(*, again: bool = False) -> None:
    """Wait to be interrupted, then clean up after a thread; `again` until interrupted once more."""
    finished = threading.Event()
    busy = threading.Thread(target=finished.wait)
    busy.start()
    try:
        print("waiting", file=sys.stderr, flush=True)
        threading.Event().wait(TIMEOUT)
    finally:
        try:
            print("cleaning", file=sys.stderr, flush=True)
            if again:
                busy.join(TIMEOUT)
        finally:
            finished.set()
            busy.join()


def swallow_signal() -> None:
    """Be interrupted in a callback of C code, which ignores it and fails, as a compiler does."""

    def interrupt() -> None:
        sys.unraisablehook = lambda unraisable: None
        os.kill(os.getpid(), signal.SIGTERM)

    ctypes.CFUNCTYPE(None)(interrupt)()
    raise RuntimeError("no compiled object yet")


if __name__ == "__main__":
    sys.exit(execute(app, sys.argv[1:]))
