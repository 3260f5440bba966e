"""Worker processes: order, exceptions, deaths and ends.

Functions handed to workers are of the standard library, since a worker knows nothing of the tests.
"""

import operator
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import threadpoolctl

from myriad.errors import WorkError
from myriad.parallel import open_local, open_processes
from tests.robustness.calling import environment
from tests.robustness.killing import processes_in, wait_for_end
from tests.signals import interruptible_python


@pytest.fixture(scope="module")
def executor():
    with open_processes(2) as executor:
        yield executor


def test_results_come_in_order_and_from_other_processes(executor):
    assert list(executor.map(operator.neg, range(50))) == [-n for n in range(50)]
    with open_local(1) as here, open_local(3) as threads:
        assert list(here.map(operator.neg, range(9))) == [-n for n in range(9)]
        assert list(threads.map(operator.neg, range(9))) == [-n for n in range(9)]
    pids = set(executor.map(operator.methodcaller("__call__"), [os.getpid] * 20))
    assert 1 <= len(pids) <= 2
    assert os.getpid() not in pids


def test_only_a_few_items_are_taken_at_a_time(executor):
    taken = []
    items = (taken.append(n) or n for n in range(100))
    results = executor.map(operator.neg, items)
    next(results)
    assert len(taken) <= 2 * executor.n_workers


def test_large_arrays_pass_both_ways(executor):
    array = np.arange(3_000_000, dtype=np.float32)
    for found in executor.map(operator.neg, [array] * 3):
        np.testing.assert_array_equal(found, -array)


def test_blas_has_one_thread(executor):
    (found,) = executor.map(operator.methodcaller("__call__"), [threadpoolctl.threadpool_info])
    assert {pool["num_threads"] for pool in found} <= {1}
    (value,) = executor.map(os.getenv, ["OMP_NUM_THREADS"])
    assert value == "1"


def test_exceptions_pass_and_say_where_they_were_raised(executor):
    with pytest.raises(ZeroDivisionError) as caught:
        list(executor.map(operator.methodcaller("__truediv__", 0), [1]))
    assert "processes.py" in "".join(caught.value.__notes__)
    assert list(executor.map(operator.neg, [1])) == [-1]  # the worker lives on


def test_a_result_that_cannot_be_sent_is_an_error(executor):
    with pytest.raises((TypeError, WorkError), match="pickle"):
        list(executor.map(eval, ["{}.values()"]))


def die_once(path):
    """Return the expression of a program that kills the process it runs in, but only once."""
    return (
        f"__import__('os').kill(__import__('os').getpid(), 9) "
        f"if not __import__('os').path.exists({str(path)!r}) "
        f"and not __import__('os').mkdir({str(path)!r}) else 7"
    )


def test_a_worker_that_dies_costs_its_piece_which_is_done_again(executor, tmp_path):
    assert list(executor.map(eval, ["1", die_once(tmp_path / "x"), "3"])) == [1, 7, 3]


def test_a_piece_that_kills_every_worker_is_an_error(executor):
    with pytest.raises(WorkError, match=r"3 worker processes died .* by SIGKILL, perhaps because"):
        list(executor.map(eval, ["__import__('os').kill(__import__('os').getpid(), 9)"]))
    with pytest.raises(WorkError, match="with status 4"):
        list(executor.map(os._exit, [4]))
    assert list(executor.map(operator.neg, [1])) == [-1]


def test_the_work_may_be_left_in_the_middle(tmp_path):
    slow = f"__import__('time').sleep(60) or open({str(tmp_path / 'finished')!r}, 'w')"
    with open_processes(2) as executor:
        next(executor.map(eval, ["0", slow, slow, slow]))
    assert not (tmp_path / "finished").exists()


def test_a_script_without_a_guard_is_not_run_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import operator\nfrom myriad.parallel import open_processes\nprint('once')\n"
        "with open_processes(2) as mapper: print(list(mapper.map(operator.neg, [1, 2])))\n"
    )
    done = subprocess.run(
        [sys.executable, script], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "once\n[-1, -2]\n", done.stderr
    assert done.stderr == ""


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_parent_that_ends_leaves_no_orphans(tmp_path, number):
    script = tmp_path / "script.py"
    script.write_text(
        "import time\nfrom myriad.parallel import open_processes\n"
        "with open_processes(2) as mapper:\n"
        "    for _ in mapper.map(time.sleep, [0, 0, 0, 0] + [60] * 9): print('up', flush=True)\n"
    )
    process = subprocess.Popen(
        interruptible_python(script),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        process.stdout.readline()
        assert len(processes_in(tmp_path)) >= 3  # it, the server, a worker
        process.send_signal(number)
        process.communicate(timeout=20)
        assert wait_for_end(tmp_path) == []
    finally:  # a process that is left behind is a warning, and so an error, of some later test
        process.kill()
        process.communicate()


def wait_for_ever(item):
    if item == "stuck":
        threading.Event().wait()
    return item


def test_a_worker_that_takes_too_long_is_killed(executor):
    call = executor.bind(wait_for_ever, timeout=60)
    assert call("quick") == "quick"
    with pytest.raises(TimeoutError):
        executor.bind(wait_for_ever, timeout=0.2)("stuck")
    assert call("quick") == "quick"
