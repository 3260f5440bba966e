"""Single faults of the file system: a sample of what `tests.robustness.campaign` runs in full."""

import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from myriad.cli.main import VERBS
from tests.robustness.calling import environment
from tests.robustness.fault_runs import check_fault, run_clean, select_calls
from tests.robustness.faults import CUT, Fault, watched
from tests.robustness.jobs import JOBS, NOT_JOBS

SAMPLED = {
    "train over": 5,
    "extract over": 4,
    "import over": 5,
    "compress": 3,
    "export rows": 3,
    "predict": 3,
    "predict links": 2,
    "report model": 2,
    "tune": 4,
}
"""Jobs, and how many of their faults are tried, spread over all of their calls."""
ROOT = Path(__file__).parents[2]
KILL_FIRST_TASK = """
import sys
from itertools import islice
from pathlib import Path
import tests.conftest  # chooses the cache of kernels
from tests.robustness.process_runs import check_dying_workers
for _, wrong in islice(check_dying_workers(Path(sys.argv[1]), Path(sys.argv[2])), 1):
    assert not wrong, wrong
"""


def test_every_verb_has_a_job():
    assert {job.command.split()[0] for job in JOBS} == VERBS.keys() - NOT_JOBS


@pytest.mark.parametrize("name", SAMPLED)
def test_a_fault_loses_nothing_and_the_run_can_be_repeated(name, ready, tmp_path):
    (job,) = (job for job in JOBS if job.name == name)
    clean = run_clean(job, ready, tmp_path)
    faults = [fault for fault in clean.faults if not fault.kills]
    assert len(faults) > 10
    step = len(faults) // SAMPLED[name]
    for fault in faults[step // 2 :: step]:
        wrong = check_fault(clean, fault, ready, tmp_path, fork=False)
        assert not wrong, (fault, clean.calls[fault.number])


def test_a_model_can_be_written_after_a_disk_failed_between_two_renames(ready, tmp_path):
    (job,) = (job for job in JOBS if job.name == "forget")
    clean = run_clean(job, ready, tmp_path)
    number = clean.calls.index(("rename", "new/config.json"))
    assert not check_fault(clean, Fault(number, "bad disk"), ready, tmp_path, fork=False)


def test_a_run_survives_workers_that_die(ready, tmp_path):
    """The first of the tasks that the campaign tries all of.

    In a new process: the runs are forks of it, and cannot use a server of worker processes that
    was started before the fork, as that of this process may have been by another test.
    """
    code = [sys.executable, "-c", KILL_FIRST_TASK, str(ready), str(tmp_path)]
    ended = subprocess.run(code, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_of_files_that_are_alike_the_first_and_the_last_are_selected():
    names = [f"new/images/train/{label}/{i}.png" for label in "abc" for i in range(3)]
    names += [f"new/images/test/{label}/3.png" for label in "abc"]
    calls = [("mkdir", "new"), ("mkdir", "new/images")]
    calls += [(action, name) for name in names for action in ("create", "write")]
    calls += [("read", name) for _ in range(2) for name in names] + [("read", "new/model")]
    selected = select_calls(calls, "new/images")
    chosen = [calls[number] for number in sorted(selected)]
    assert [call for call in chosen if call[1] in ("new", "new/images", "new/model")] == [
        ("mkdir", "new"),
        ("mkdir", "new/images"),
        ("read", "new/model"),
    ]
    ends = ["train/a/0.png", "train/c/2.png", "test/a/3.png", "test/c/3.png"]
    ends = [f"new/images/{name}" for name in ends]
    for action, times in (("create", 1), ("write", 1), ("read", 2)):
        found = [path for done, path in chosen if done == action and path != "new/model"]
        assert found == times * ends


def make_calls(folder):
    """Make a call of most kinds."""
    (folder / "below").mkdir()
    (folder / "below/a").write_bytes(b"12345678")
    os.replace(folder / "below/a", folder / "b")
    os.symlink(folder / "b", folder / "linked")
    os.listdir(folder)
    content = (folder / "b").read_bytes()
    shutil.rmtree(folder / "below")
    (folder / "b").unlink()
    return content


def test_calls_are_counted_and_each_can_fail(tmp_path):
    (tmp_path / "first").mkdir()
    with watched(tmp_path / "first") as watch:
        assert make_calls(tmp_path / "first") == b"12345678"
    kinds = [action for action, _ in watch.calls]
    assert kinds[:6] == ["mkdir", "create", "write", "rename", "link", "list"]
    assert kinds.count("remove") == 2
    faults = [fault for fault in watch.faults() if not fault.kills]
    assert {fault.number for fault in faults} == set(range(len(kinds)))
    for number, fault in enumerate(faults):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises(OSError, match="Errno"), watched(folder, fault) as watch:
            make_calls(folder)
        assert watch.happened
    assert isinstance(open, types.BuiltinFunctionType)  # as it was before


def test_a_write_that_is_cut_short_leaves_half(tmp_path):
    with pytest.raises(OSError, match="No space"), watched(tmp_path, Fault(1, CUT)):
        (tmp_path / "a").write_bytes(b"12345678")
    assert (tmp_path / "a").read_bytes() == b"1234"


def test_calls_outside_of_the_folder_are_not_counted(tmp_path):
    (tmp_path / "inner").mkdir()
    with watched(tmp_path / "inner", Fault(0, "bad disk")) as watch:
        (tmp_path / "a").write_bytes(b"1")
    assert watch.calls == []
