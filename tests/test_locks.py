"""Locks of outputs: one holder at a time, nothing left behind, stale files taken over."""

import errno
import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from myriad import locks
from myriad.errors import InputError, WorkError
from myriad.locks import locked
from myriad.progress import Progress
from tests.robustness.calling import environment


class Notes(Progress):
    """The notes that the user would see."""

    def __init__(self):
        self.sentences = []

    def note(self, sentence):
        self.sentences.append(sentence)


def try_elsewhere(path):
    """Lock an output in another thread, and release it at once."""

    def enter():
        with locked(path):
            return True

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(enter).result()


def test_one_holder_at_a_time(tmp_path):
    out = tmp_path / "model"
    with locked(out):
        assert [path.name for path in tmp_path.iterdir()] == [".model.lock"]
        sentence = rf"model is being written.*process {os.getpid()} on {socket.gethostname()}\)"
        with pytest.raises(WorkError, match=sentence):
            try_elsewhere(out)
        assert try_elsewhere(tmp_path / "another")
    assert list(tmp_path.iterdir()) == []
    assert try_elsewhere(out)


def test_a_job_may_call_another_on_the_same_output(tmp_path):
    out = tmp_path / "model"
    with locked(out, None):
        with locked(tmp_path / "." / "model"):
            pass
        with pytest.raises(WorkError):  # still held
            try_elsewhere(out)
    assert try_elsewhere(out)


def test_a_link_leads_to_the_same_lock(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "link").symlink_to("model")
    with locked(tmp_path / "link"), pytest.raises(WorkError):
        try_elsewhere(tmp_path / "model")


def test_a_file_without_a_holder_is_taken_over(tmp_path):
    (tmp_path / ".model.lock").write_text("process 1 on a machine that is gone\n" * 9)
    with locked(tmp_path / "model"):
        content = (tmp_path / ".model.lock").read_text()
        assert content == f"process {os.getpid()} on {socket.gethostname()}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_killed_process_holds_no_lock(tmp_path):
    code = (
        "import sys; from pathlib import Path; from myriad.locks import locked\n"
        "with locked(Path(sys.argv[1])):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "model")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env=environment(), **pipes) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(WorkError, match=f"process {process.pid} on "):
            try_elsewhere(tmp_path / "model")
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert (tmp_path / ".model.lock").exists()
    assert try_elsewhere(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_whose_file_was_removed_meanwhile_is_not_taken_for_held(tmp_path, monkeypatch):
    """A holder ends between the opening of the file and its locking; a third one comes first."""
    plain, opened = locks._flock, []

    def remove_first(descriptor):
        if not opened:
            (tmp_path / ".model.lock").unlink()
            (tmp_path / ".model.lock").touch()
        opened.append(descriptor)
        plain(descriptor)

    monkeypatch.setattr(locks, "_flock", remove_first)
    with locked(tmp_path / "model"):
        assert len(opened) == 2
        monkeypatch.setattr(locks, "_flock", plain)
        with pytest.raises(WorkError):
            try_elsewhere(tmp_path / "model")


def test_parents_are_made_and_removed_unless_used(tmp_path):
    with locked(tmp_path / "a" / "b" / "model"):
        assert (tmp_path / "a" / "b" / ".model.lock").exists()
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path / "a" / "b" / "model"):
        (tmp_path / "a" / "kept").touch()
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["kept"]
    notes = Notes()
    with locked(tmp_path / "none" / "page.html", make_parents=False, progress=notes):
        assert not (tmp_path / "none").exists()
    with locked(tmp_path / "a" / "kept" / "model", progress=notes):  # below a file
        pass
    assert notes.sentences == []


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_noted_once_and_the_work_continues(
    tmp_path, monkeypatch, number
):
    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(locks, "_flock", fail)
    notes = Notes()
    with locked(tmp_path / "m", progress=notes), locked(tmp_path / "m", progress=notes):
        assert list(tmp_path.iterdir()) == []
    (sentence,) = notes.sentences
    assert sentence.startswith(f"{tmp_path / 'm'} cannot be locked ({os.strerror(number)}): make")


def test_urls_and_the_root_are_no_outputs():
    with pytest.raises(InputError, match="/ is the root"), locked(Path("/")):
        pass
    with pytest.raises(InputError, match="is a URL"), locked(Path("memory://model")):
        pass


class Windows:
    """Stands for msvcrt: at most one descriptor of a file holds its lock."""

    LK_NBLCK = 2

    def __init__(self):
        self.holders = {}

    def locking(self, descriptor, mode, n_bytes):
        file = os.fstat(descriptor).st_ino
        holder = self.holders.get(file)
        if holder is not None and holder != descriptor:
            raise PermissionError(errno.EACCES, "Permission denied")
        self.holders[file] = descriptor


def test_the_locks_of_windows_do_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", Windows())
    removed = []
    unlink = os.unlink

    def remove_closed(path):
        """Refuse to remove a file that is open, the first time."""
        removed.append(path)
        if len(removed) == 1:
            raise PermissionError(errno.EACCES, "in use")
        unlink(path)

    monkeypatch.setattr(os, "unlink", remove_closed)
    out = tmp_path / "model"
    with locked(out), pytest.raises(WorkError, match=rf"process {os.getpid()} on"):
        try_elsewhere(out)
    assert list(tmp_path.iterdir()) == []


def test_without_locks_the_work_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    monkeypatch.setattr(locks, "msvcrt", None)
    notes = Notes()
    with locked(tmp_path / "model", progress=notes):
        assert not locks.locks_files()
    assert len(notes.sentences) == 1
    assert "no file locks" in notes.sentences[0]


def test_outputs_among_devices_are_refused(tmp_path, monkeypatch):
    """As root, a file written to /dev/stdout would replace the link of the whole system."""
    link = tmp_path / "stdout"
    link.symlink_to("/proc/self/fd/1")
    devices = frozenset([tmp_path.stat().st_dev])
    monkeypatch.setattr("myriad.files._kernel_devices", lambda: devices)
    with pytest.raises(InputError, match="stdout cannot be written: its folder is one of devices"):
        try_elsewhere(link)
    assert list(tmp_path.iterdir()) == [link]


@pytest.mark.skipif(not os.path.ismount("/dev"), reason="/dev is not a file system of its own")
@pytest.mark.parametrize("path", ["/dev/no-such-device", "/proc/no-such-file"])
def test_folders_of_the_kernel_are_among_them(path):
    with pytest.raises(InputError, match="its folder is one of devices"):
        try_elsewhere(Path(path))


def test_two_outputs_of_one_name_are_refused(tmp_path):
    (tmp_path / "link").symlink_to("a.csv")
    for second in (tmp_path / "a.csv", tmp_path / "link"):
        with (
            pytest.raises(InputError, match="named for two outputs"),
            locked(tmp_path / "a.csv", None, second),
        ):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["link"]
