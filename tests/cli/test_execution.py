import json
import os
import signal
import subprocess
import sys

import jsonschema
import pyarrow as pa
import pytest

from myriad.cli.execution import execute, explain
from tests.cli import toy
from tests.cli.calling import TOY, call_toy, environment, start_toy
from tests.cli.schemas import load_schema
from tests.signals import background_python, interruptible_python

STATUSES = {
    "input": (2, "data.csv has no column 'label'. Add one."),
    "work": (1, "12 of 20 images are bad."),
    "hostile": (2, r"a\nb\x1b[31m[bold]\u202ec is no image."),
    "full": (1, "No space left for out/shard."),
    "full-nameless": (1, "No space left on the device."),
    "forbidden": (2, "out/model: Permission denied."),
    "read-only": (2, "out/model: Read-only file system."),
    "missing": (2, "no/where: No such file or directory."),
    "disk": (1, "store/shard: Input/output error."),
    "nameless": (1, "3 requested and 2 written."),
    "pipe": (1, "A worker process ended unexpectedly."),
    "memory": (1, "Not enough memory (Unable to allocate 7 TiB)."),
    "bug": (1, "Unexpected error (this is a bug in myriad): KeyError: 'lost'."),
}

USAGE = {
    ("end", "--nope"): "No such option: --nope. Try 'myriad end --help'.",
    ("end", "-n", "many"): "-n",
    ("end", "-n", "0"): "-n",
    ("end", "a", "b"): "unexpected extra argument",
    ("sing",): "No such command 'sing'",
    ("end", "--threads", "0"): "--threads",
    ("end", "--seed", "-1"): "--seed",
    ("end", "--seed", str(2**63)): "--seed must be below",
    ("end", "--overwrite", "--resume"): "--overwrite and --resume",
    ("short", "--resume"): "--resume",
}


def test_every_failure_has_a_status():
    assert STATUSES.keys() == toy.FAILURES.keys()


def test_failure_on_a_terminal_is_wrapped_between_words(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert execute(toy.app, ["end", "input", "--quiet"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) <= 30
    assert " ".join(lines) == f"Error: {STATUSES['input'][1]}"


@pytest.mark.parametrize("way", STATUSES)
def test_failure_is_a_sentence_on_stderr(way, capsys):
    status, sentence = STATUSES[way]
    assert execute(toy.app, ["end", way]) == status
    out, err = capsys.readouterr()
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("Error: ")
    assert sentence in last
    assert "Traceback" not in err


@pytest.mark.parametrize("way", STATUSES)
def test_failure_is_one_object_with_json(way, capsys):
    status, sentence = STATUSES[way]
    assert execute(toy.app, ["end", way, "--json"]) == status
    out, err = capsys.readouterr()
    answer = json.loads(out)
    jsonschema.validate(answer, load_schema("error"))
    assert answer.keys() == {"error"}
    assert sentence in answer["error"]
    assert "Error" not in err


@pytest.mark.parametrize("arguments", USAGE)
def test_wrong_call(arguments, capsys):
    assert execute(toy.app, arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert USAGE[arguments] in err


@pytest.mark.parametrize("arguments", USAGE)
def test_wrong_call_with_json(arguments, capsys):
    assert execute(toy.app, [*arguments, "--json"]) == 2
    out, err = capsys.readouterr()
    assert USAGE[arguments] in json.loads(out)["error"]
    assert err == ""


def test_json_after_the_last_option_is_a_name(capsys):
    assert execute(toy.app, ["end", "input", "--", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_result_as_json():
    done = call_toy("end", "talk", "--json", "--seed", "7", "--threads", "2", "--resume", "-n", "5")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert json.loads(done.stdout) == {
        "n": 5,
        "seed": 7,
        "threads": 2,
        "overwrite": False,
        "resume": True,
        "lost": None,
        "path": "here",
        "name": toy.HOSTILE,
    }
    assert "a library talks on stdout" in done.stderr
    assert "Counting [bold]: 5 images" in done.stderr


def test_result_for_people_in_a_pipe():
    done = call_toy("end")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "Answer",
        "name                       count",
        r"a\nb\x1b[31m[bold]\u202ec      3",
        "plain                      1,234",
        "Time  12 s",
        "Loss  -",
        "",
        "Model  my model",
        "",
        "Next:",
        "  myriad predict 'my model' IMAGE",
    ]


def test_colours_are_never_forced_into_a_pipe():
    done = call_toy("end", FORCE_COLOR="1", TTY_COMPATIBLE="1")
    assert "\x1b" not in done.stdout + done.stderr


def test_quiet():
    done = call_toy("end", "--quiet")
    assert done.stderr == ""
    assert done.stdout == call_toy("end").stdout


def test_debug_shows_the_traceback_and_keeps_stdout_pure():
    done = call_toy("end", "bug", "--json", MYRIAD_DEBUG="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "toy.py" in done.stderr
    assert "KeyError" in json.loads(done.stdout)["error"]


def test_no_arguments_show_the_help(capsys):
    assert execute(toy.app, []) == 0
    assert "Play." in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("as_json", [False, True])
def test_interruption(number, as_json):
    process = start_toy("end", "wait", *(["--json"] if as_json else []))
    seen = [process.stderr.readline()]
    while "waiting" not in seen[-1]:
        seen.append(process.stderr.readline())
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    sentence = "Interrupted. What was finished is kept; run the same command again with --resume."
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "Counting [bold]: stopped after" in err
    if as_json:
        assert json.loads(out) == {"error": sentence}
    else:
        assert out == ""
        assert err.splitlines()[-1] == sentence


def test_interruption_of_what_cannot_be_resumed_and_again_while_it_cleans_up():
    process = start_toy("short")
    for word in ("waiting", "cleaning"):
        while word not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert (out, err) == ("", "Interrupted.\n")


def test_an_interruption_that_c_code_ignores_is_no_bug():
    done = call_toy("end", "swallowed")
    assert done.returncode == 130
    assert done.stderr.splitlines()[-1].startswith("Interrupted.")
    assert "bug in myriad" not in done.stderr


@pytest.mark.parametrize(
    ("command", "status"), [(interruptible_python, 130), (background_python, 0)]
)
def test_a_command_started_with_sigint_ignored_is_not_interrupted(command, status):
    done = subprocess.run(
        command(TOY, "end", "signal"),
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == status, done.stderr


@pytest.mark.parametrize(
    ("arguments", "statuses"),
    [
        (["end"], {0}),
        (["end", "--json"], {0}),
        (["--help"], {0, 1}),  # typer's own page, and its way to end
        (["end", "input", "--json"], {2}),
    ],
)
def test_reader_that_has_gone(arguments, statuses):
    read, write = os.pipe()
    os.close(read)
    process = start_toy(*arguments, stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=30)
    assert process.returncode in statuses
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert "Broken" not in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["end"], ["end", "--json"], ["end", "input", "--json"]])
def test_full_stdout(arguments):
    with open("/dev/full", "w") as full:
        process = start_toy(*arguments, stdout=full)
        _, err = process.communicate(timeout=30)
    assert process.returncode == (2 if "input" in arguments else 1)
    assert err.splitlines()[-1].startswith("Error: ")
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_progress_that_nobody_reads_does_not_stop_the_work():
    read, write = os.pipe()
    os.close(read)
    process = start_toy("end", "--json", stderr=write)
    os.close(write)
    out, _ = process.communicate(timeout=30)
    assert json.loads(out)["n"] == 3


@pytest.mark.parametrize(
    ("words", "closed", "status"),
    [
        ("export nowhere --out x", "2>&-", 2),
        ("export nowhere --out x --json", ">&-", 2),
        ("export nowhere --out x --json", "<&- >&- 2>&-", 2),
        ("--help", ">&- 2>&-", 0),
    ],
)
def test_closed_streams(words, closed, status, tmp_path):
    line = f"{sys.executable} -m myriad.cli.main {words} {closed}"
    called = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert (called.returncode, called.stdout + called.stderr) == (status, "")


def test_the_folder_of_worker_processes_is_removed_when_interrupted(tmp_path):
    code = """
from multiprocessing import util
import myriad.cli.main as command
util.get_temp_dir()
command.execute = lambda app, arguments: command.INTERRUPTED
command.run()
"""
    called = subprocess.run(
        [sys.executable, "-c", code], env=environment() | {"TMPDIR": str(tmp_path)}, check=False
    )
    assert called.returncode == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ImportError("libx.so: failed to map segment from shared object"), "Not enough memory"),
        (OSError("libx.so: cannot allocate memory in static TLS block"), "Not enough memory"),
        (RuntimeError("can't start new thread"), "fewer --threads"),
        (pa.ArrowException("Failed to launch worker thread: try again"), "fewer --threads"),
    ],
)
def test_the_limits_of_the_system_are_no_bugs(error, says):
    assert explain(error).status == 1
    assert says in explain(error).sentence


def test_a_current_folder_that_was_removed(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(OSError, match="No such file") as caught:
        os.getcwd()
    failure = explain(caught.value)
    assert failure.status == 2
    assert failure.sentence == "The current folder was removed: change to another one."
