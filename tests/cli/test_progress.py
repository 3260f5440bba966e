import io
import os
import pty
import re
import select
import subprocess
import sys
import threading

import pytest

from myriad.cli.bars import BarProgress
from myriad.cli.progress import LineProgress, StepState, choose_progress
from myriad.errors import MESSAGE_CHARACTERS
from myriad.progress import SILENT
from tests.cli.calling import TOY, environment


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def lines():
    """A stream of lines, and progress on it that goes by a clock of ours."""
    stream, clock = io.StringIO(), Clock()
    return stream, clock, LineProgress(stream, clock=clock)


def test_lines_of_a_step(lines):
    stream, clock, progress = lines
    with progress.step("Extracting", 9000, "images") as advance:
        for _ in range(90):
            clock.now += 0.25
            advance(100)
    assert stream.getvalue().splitlines() == [
        "Extracting: 9,000 images ...",
        "Extracting: 4,000 of 9,000 images (400 images/s), 12 s left",
        "Extracting: 8,000 of 9,000 images (400 images/s), 2 s left",
        "Extracting: 9,000 images in 22 s (400 images/s)",
    ]


def test_lines_of_a_step_of_unknown_length(lines):
    stream, clock, progress = lines
    with progress.step("Learning\n[bold]"):
        clock.now += 2.5
    assert stream.getvalue().splitlines() == [
        r"Learning\n[bold] ...",
        r"Learning\n[bold]: 2.5 s",
    ]


def test_the_rate_is_left_out_where_it_does_not_fit():
    state = StepState("Cross-validation: softmax in a space", 400, "epochs", 0.0, done=252)
    line = "Cross-validation: softmax in a space: 252 epochs in 2.0 s"
    assert state.describe_end(2.0, finished=True) == f"{line} (126 epochs/s)"
    assert state.describe_end(2.0, finished=True, width=len(line) + 10) == line
    assert state.describe_end(2.0, finished=True, width=len(line) + 15) == f"{line} (126 epochs/s)"


def test_notes_are_shortened(lines):
    """A note may quote a label of thousands of characters."""
    stream, _, progress = lines
    progress.note(f"The first is {'9' * 10_000!r}.")
    (line,) = stream.getvalue().splitlines()
    assert len(line) <= MESSAGE_CHARACTERS
    assert line.startswith("The first is '999")
    assert line.endswith("9'.")


def test_lines_of_a_step_inside_a_step(lines):
    stream, clock, progress = lines
    with progress.step("Training", 2, "epochs") as finish:
        for _ in range(2):
            with progress.step("Epoch", 4, "blocks") as advance:
                for _ in range(4):
                    clock.now += 6
                    advance(1)
            finish(1)
    assert stream.getvalue().splitlines() == [
        "Training: 2 epochs ...",
        "Epoch: 2 of 4 blocks (0.17 blocks/s), 12 s left",
        "Epoch: 4 of 4 blocks (0.17 blocks/s)",
        "Training: 1 of 2 epochs (0.04 epochs/s)",
        "Epoch: 2 of 4 blocks (0.17 blocks/s), 12 s left",
        "Epoch: 4 of 4 blocks (0.17 blocks/s)",
        "Training: 2 of 2 epochs (0.04 epochs/s)",
        "Training: 2 epochs in 48 s (0.04 epochs/s)",
    ]


def test_lines_of_a_step_that_fails(lines):
    stream, clock, progress = lines

    def fail():
        with progress.step("Extracting", 10, "images") as advance:
            advance(4)
            clock.now += 3
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert stream.getvalue().splitlines()[-1] == ("Extracting: stopped after 3.0 s, 4 of 10 images")


def test_advance_counts_from_many_threads(lines):
    stream, clock, progress = lines
    with progress.step("Extracting", 40_000, "images") as advance:
        threads = [
            threading.Thread(target=lambda: [advance(1) for _ in range(10_000)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        clock.now += 1
    assert stream.getvalue().splitlines()[-1].startswith("Extracting: 40,000 images in")


def test_choice(monkeypatch):
    stream = io.StringIO()
    assert choose_progress(stream, quiet=True) is SILENT
    assert isinstance(choose_progress(stream, quiet=False), LineProgress)
    monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert type(choose_progress(stream, quiet=False)).__name__ == "BarProgress"
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(choose_progress(stream, quiet=False), LineProgress)


def watch(*arguments, columns="100", until=""):
    """Run the toy with a terminal for stderr; return its stdout and what the terminal received.

    Whenever the terminal receives something, the toy may take a step; once it has received what
    matches `until`, all the others.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, TOY, *arguments],
        env=environment(TERM="xterm-256color", COLUMNS=columns),
        stdin=subprocess.PIPE if until else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        bufsize=1,
    )
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            received = os.read(ours, 65536)
        except OSError:  # how Linux says that the other side has closed
            break
        if not received:
            break
        seen += received
        if until and not process.stdin.closed:
            process.stdin.write("\n")
            if re.search(until, strip_styles(seen.decode(errors="replace"))):
                process.stdin.close()
    os.close(ours)
    with process:
        out = process.stdout.read()
    assert process.returncode == 0
    return out, seen.decode()


def strip_styles(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_bars_on_a_terminal():
    out, seen = watch("end", "watched", "-n", "60", "--json", until=r"images/s +\d+ s left")
    plain = strip_styles(seen)
    assert "━" in plain
    assert re.search(r"Counting \[bold\] .* \d+ of 60 images +[\d.]+ images/s +\d+ s left", plain)
    assert re.search(r"✓ Counting \[bold\]: 60 images in [\d.]+ s \([\d.]+ images/s\)", plain)
    assert "One image is bad." in plain
    assert seen.count("\x1b[?25l") == seen.count("\x1b[?25h") > 0  # the cursor comes back
    assert out.count("\n") == 1


def test_narrow_terminal_drops_the_bar_before_the_figures():
    _, seen = watch("end", "watched", "-n", "60", columns="50", until=r"\d+ s left")
    assert re.search(r"Counting \[bold\] +\d+ of 60 images +\d+ s left", strip_styles(seen))
    assert "━" not in seen


def test_short_step_has_no_bar_and_quiet_has_nothing():
    _, seen = watch("end", "-n", "60")
    assert "━" not in seen
    assert "✓ Counting [bold]: 60 images in" in strip_styles(seen)
    _, seen = watch("end", "-n", "30", "--quiet")
    assert seen == ""


def test_notes_are_wrapped_between_words(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = io.StringIO()
    sentence = "Kernels are compiled for this processor, which can take a minute in all."
    BarProgress(stream).note(sentence)
    lines = strip_styles(stream.getvalue()).splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(map(str.strip, lines)) == sentence
