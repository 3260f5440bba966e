"""Workers of a Dask cluster: the same results, deaths, and what is said of a wrong one."""

import operator
import os
import signal
import threading

import pytest

from myriad.errors import InputError, WorkError
from myriad.parallel import ClusterExecutor, open_cluster
from myriad.parallel import cluster as clusters

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def executor():
    with open_cluster("local:2") as executor:
        yield executor


def test_results_come_in_order_from_real_processes(executor):
    assert executor.n_workers == 2
    assert list(executor.map(operator.neg, range(20))) == [-n for n in range(20)]
    pids = set(executor.map(operator.methodcaller("__call__"), [os.getpid] * 8))
    assert os.getpid() not in pids


def test_exceptions_pass(executor):
    with pytest.raises(ZeroDivisionError):
        list(executor.map(operator.methodcaller("__truediv__", 0), [1]))


def test_paths_that_a_worker_does_not_see(executor, tmp_path):
    executor.require(tmp_path)
    with pytest.raises(InputError, match="nowhere does not exist on the worker tcp://"):
        executor.require(tmp_path / "nowhere")


def test_a_worker_that_is_killed_costs_its_task(executor, tmp_path):
    mark = tmp_path / "mark"
    deadly = (
        f"__import__('os').kill(__import__('os').getpid(), {int(signal.SIGKILL)}) "
        f"if not __import__('os').path.exists({str(mark)!r}) "
        f"and not __import__('os').mkdir({str(mark)!r}) else 7"
    )
    assert list(executor.map(eval, ["1", deadly, "3"])) == [1, 7, 3]
    assert mark.exists()


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(clusters, "SECONDS", 1)
    for where in ("tcp://127.0.0.1:1", "nonsense://x"):
        with (
            pytest.raises(InputError, match="no Dask scheduler"),
            open_cluster(where),
        ):
            pass


@pytest.mark.parametrize("where", ["local:", "local:0", "local:many", "local:-2"])
def test_local_needs_a_number(where):
    with pytest.raises(InputError, match="local:N needs a number"), open_cluster(where):
        pass


class Client:
    """A client of workers that are not as they should be."""

    def __init__(self, found):
        self.found = found

    def wait_for_workers(self, n, timeout):
        if self.found is None:
            raise TimeoutError

    def run(self, function):
        if isinstance(self.found, Exception):
            raise self.found
        return {"tcp://worker": self.found}


@pytest.mark.parametrize(
    ("found", "error", "sentence"),
    [
        (None, WorkError, "has no workers"),
        (ModuleNotFoundError("No module named 'myriad'"), InputError, "cannot import myriad"),
        ({"myriad-learn": "9.9", "numpy": "1"}, InputError, "myriad-learn is 9.9 on the worker"),
    ],
)
def test_workers_that_do_not_fit(found, error, sentence):
    with pytest.raises(error, match=sentence):
        clusters._check(Client(found), "tcp://scheduler")


class Lost:
    """Workers that are gone for good, and so is the work that they had."""

    status = "pending"

    def result(self, timeout):
        raise TimeoutError

    def submit(self, *arguments, **options):
        return self

    def nthreads(self, callback_timeout):
        return {}


def test_a_cluster_without_workers_is_an_error(monkeypatch):
    monkeypatch.setattr(clusters, "LOOK", 1)
    monkeypatch.setattr(clusters, "LONGEST", 2)
    with pytest.raises(WorkError, match="lost all its workers"):
        list(ClusterExecutor(Lost(), 2).map(abs, [1]))


class Silent(Lost):
    """A scheduler that is stopped: its connection is open, but there is no answer."""

    def nthreads(self, callback_timeout):
        raise TimeoutError


def test_a_scheduler_that_stops_is_an_error(monkeypatch):
    monkeypatch.setattr(clusters, "LOOK", 1)
    monkeypatch.setattr(clusters, "LONGEST", 2)
    with pytest.raises(WorkError, match="scheduler does not answer"):
        list(ClusterExecutor(Silent(), 2).map(abs, [1]))


def test_a_lost_connection_is_named():
    from distributed.client import FutureCancelledError

    def cancel():
        raise FutureCancelledError("_call-1", "scheduler-connection-lost")

    with pytest.raises(WorkError, match=r"connection to the scheduler was lost.*--resume"):
        list(ClusterExecutor(Late("error", cancel), 2).map(abs, [1]))


class Late(Lost):
    """Work that ends just after it was waited for."""

    def __init__(self, status, result):
        self.ends, self.answer = status, result

    def result(self, timeout=None):
        if self.status == "pending":
            self.status = self.ends
            raise TimeoutError
        return operator.call(self.answer)


def test_work_that_ends_just_after_it_was_waited_for():
    assert list(ClusterExecutor(Late("finished", lambda: 7), 2).map(abs, [1])) == [7]
    with pytest.raises(ZeroDivisionError):
        list(ClusterExecutor(Late("error", lambda: 1 // 0), 2).map(abs, [1]))


def test_workers_that_do_not_start(monkeypatch):
    def fail(**options):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", fail)
    with pytest.raises(WorkError, match=r"local:3: the workers do not start \(Nanny failed"):
        open_cluster("local:3").__enter__()


def make_watcher():
    """Return a plugin of a scheduler that sets the event `empty` when its last worker is gone."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Watcher(SchedulerPlugin):
        def __init__(self):
            self.empty = threading.Event()

        def remove_worker(self, scheduler, worker, **rest):
            if not scheduler.workers:
                self.empty.set()

    return Watcher()


def test_workers_that_dask_has_given_up_are_replaced(executor, monkeypatch):
    monkeypatch.setattr(clusters, "LOOK", 0.2)
    cluster = executor._own.cluster
    executor._client.wait_for_workers(2, timeout=60)  # one may have been killed a moment ago
    watcher = make_watcher()
    cluster.scheduler.add_plugin(watcher)
    for nanny in cluster.workers.values():
        cluster.sync(nanny.close)
    assert watcher.empty.wait(60)
    assert executor._client.nthreads() == {}
    assert list(executor.map(operator.neg, range(4))) == [0, -1, -2, -3]
    assert executor._client.nthreads()
