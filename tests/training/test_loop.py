"""The training loop: when it stops, what it reports, and what it resumes from."""

from contextlib import contextmanager

import numpy as np
import pytest

from myriad.parallel import open_threads
from myriad.progress import Progress
from myriad.store import ArrayRows
from myriad.training import Checkpoint
from myriad.training.checkpoints import TrainingState
from myriad.training.loop import run, start_clock
from myriad.training.stopping import AccuracyMonitor, EarlyStopping

ROWS = ArrayRows(np.zeros((10, 1), np.float32), np.zeros(10, np.int32))


class Counting:
    """Ranks so many of ten rows first after each epoch, and learns nothing."""

    n_classes = 20

    def __init__(self, right):
        self.right, self.epoch = right, 0

    def run_epoch(self, rows, *, seed, pool, advance):
        self.epoch += 1
        advance(rows.n_rows)

    def rank(self, rows, *, pool):
        ranks = np.full((1, rows.n_rows), 9, np.int32)
        ranks[:, : self.right[self.epoch - 1]] = 1
        return ranks

    def weights(self, number=0):
        return np.array([float(self.epoch)]), np.zeros(1)

    def epoch_statistics(self):
        return {"draws": self.epoch}

    def state(self):
        return {"epochs": np.array([self.epoch])}

    def restore(self, arrays):
        assert arrays["epochs"].tolist() == [self.epoch]


def train(right, *, until, checkpoint=None, val=ROWS, **options):
    trainer, state = Counting(right), TrainingState(checkpoint)
    monitor = AccuracyMonitor([EarlyStopping(patience=2)], val)
    with open_threads(1) as pool:
        state.resume(trainer, monitor, pool=pool)
        clock = start_clock(state.seconds)
        run(
            trainer, ROWS, monitor, until=until, seed=0, pool=pool, clock=clock, state=state,
            **options,
        )  # fmt: skip
    return trainer, monitor


def test_training_stops_when_accuracy_has_not_risen():
    reported, done = [], []
    trainer, monitor = train(
        [3, 5, 4, 3, 9], until=9, callback=reported.append, advance=done.append
    )
    assert trainer.epoch == 4
    assert [row["top1"] for row in monitor.history] == [30, 50, 40, 30]
    assert list(monitor.history[0]) == ["epoch", "top1", "top5", "seconds", "draws"]
    assert reported == monitor.history
    assert done == [1] * 4
    (weights, _), epochs = monitor.final_weights(trainer)
    assert (weights.tolist(), epochs) == ([2.0], 2)  # means of three: 30, 40, 40, 40


def test_training_without_held_out_rows_takes_all_epochs():
    reported = []
    trainer, monitor = train([], until=3, val=None, callback=reported.append)
    assert reported == [{"epoch": 1}, {"epoch": 2}, {"epoch": 3}]
    assert monitor.history == []
    (weights, _), epochs = monitor.final_weights(trainer)
    assert (weights.tolist(), epochs) == ([3.0], 3)


@pytest.mark.parametrize("broken", [1, 2, 3])
def test_training_resumes_from_its_checkpoint(tmp_path, broken):
    right = [3, 5, 4, 3, 9]
    whole, monitor = train(right, until=9)
    train(right, until=broken, checkpoint=Checkpoint(tmp_path / "c", {}, every=0.0))
    again, resumed = train(right, until=9, checkpoint=Checkpoint(tmp_path / "c", {}, every=0.0))
    assert again.epoch == whole.epoch
    for row in (*monitor.history, *resumed.history):
        row.pop("seconds")
    assert resumed.history == monitor.history
    assert resumed.final_weights(again)[1] == monitor.final_weights(whole)[1]


def test_a_checkpoint_is_written_only_when_it_is_due(tmp_path):
    train([3, 5], until=2, checkpoint=Checkpoint(tmp_path / "c", {}, every=3600.0))
    assert not (tmp_path / "c").exists()


def test_progress_counts_epochs_and_the_rows_of_each():
    steps = []

    class Recording(Progress):
        @contextmanager
        def step(self, title, total=None, unit=""):
            counts = []
            steps.append((title, total, unit, counts))
            yield counts.append

    train([3, 3, 3, 3, 3, 3], until=5, progress=Recording(), title="Learning")
    assert steps[0] == ("Learning", 5, "epochs", [0, 1, 1, 1])
    assert steps[1:] == [(f"Epoch {n}", 10, "rows", [10]) for n in (1, 2, 3)]
