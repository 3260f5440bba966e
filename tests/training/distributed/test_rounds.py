"""Rounds of local SGD: which rows each round has, and what becomes of the states of its workers."""

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.parallel import LocalExecutor
from myriad.store import ArrayRows
from myriad.training import SGD
from myriad.training.distributed.rounds import JointRounds, assign_runs
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.optimiser import Schedule
from myriad.training.settings import Setting
from myriad.training.sgd.joint import Joint, bound_gain


@pytest.mark.parametrize(("n_rows", "shards", "rounds"), [(37, 3, 4), (5, 2, 8), (10_000, 2, 3)])
def test_every_row_comes_once_and_keeps_to_its_shard(n_rows, shards, rounds):
    owners = []
    for epoch in range(2):
        owner = np.full(n_rows, -1)
        for shares in assign_runs(n_rows, shards, rounds, seed=1, epoch=epoch):
            assert len(shares) == shards
            for shard, runs in enumerate(shares):
                for start, stop in runs:
                    assert (owner[start:stop] == -1).all()
                    owner[start:stop] = shard
        assert (owner >= 0).all()
        owners.append(owner)
    np.testing.assert_array_equal(*owners)


def test_weights_are_the_mean_of_those_of_the_workers(tmp_path):
    options = {"objective": "multiclass", "bias_rate": 0.1}
    settings = [Setting(eta=0.1, lam=0.01)]
    workers = TrainingWorkers(LocalExecutor(2), tmp_path)
    spread = JointRounds(settings, 3, 4, workers=workers, rounds=1, **options)
    rng = np.random.default_rng(0)
    rows = ArrayRows(rng.standard_normal((60, 4)).astype(np.float32), np.arange(60) % 3)
    ends = []
    for shard in range(2):
        single = Joint(settings, 3, 4, **options)
        single.V[...] = rng.standard_normal(single.V.shape)
        single._states["sigma"], single._states["t"] = 0.5 + shard, 10
        single._biases[...] = shard
        ends.append(single)
    mean = np.mean([end.weights()[0] for end in ends], axis=0)
    spread._merge([end.state() for end in ends])
    W, b = spread.weights()
    np.testing.assert_allclose(W, mean, rtol=1e-6)
    np.testing.assert_allclose(b, 0.5)
    assert spread._states["t"] == 10
    spread.run_epoch(rows, seed=0, pool=None, advance=lambda n: None)
    assert spread.epoch == 1
    assert not list(tmp_path.iterdir())


def train_in_rounds(folder, rows, shards, epochs=4, **options):
    workers = TrainingWorkers(LocalExecutor(shards), folder)
    setting = options.pop("setting")
    spread = JointRounds([setting], 5, rows.dim, workers=workers, rounds=4, **options)
    for _ in range(epochs):
        spread.run_epoch(rows, seed=0, pool=None, advance=lambda n: None)
    return spread.weights()[0]


@pytest.mark.parametrize("schedule", [Schedule(), Schedule("lam"), Schedule("decay", 300.0)])
@pytest.mark.parametrize("objective", ["ranking", "softmax"])
def test_many_shards_get_as_far_as_one(tmp_path, objective, schedule):
    """Where steps are so small that weights hardly matter to gradients, the sums are the same."""
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=4000)
    X = (rng.standard_normal((5, 8))[y] + rng.standard_normal((4000, 8))).astype(np.float32) / 4
    options = {
        "objective": objective,
        "bias_rate": 0.1,
        "schedule": schedule,
        "setting": Setting(eta=1e-5, lam=1e-2),
    }
    one, four = (train_in_rounds(tmp_path, ArrayRows(X, y), n, **options) for n in (1, 4))
    assert np.vdot(four, one) / np.vdot(one, one) == pytest.approx(1, abs=0.05)
    assert np.linalg.norm(four - one) < 0.15 * np.linalg.norm(one)


def test_a_larger_step_does_not_decay_all_weights():
    assert bound_gain(Setting(eta=0.1), 64) == 64
    assert bound_gain(Setting(eta=1.0, lam=1e-2), 64) == pytest.approx(10)
    assert bound_gain(Setting(eta=2.0, lam=0.2), 64) == 1


def test_rounds_must_be_a_number():
    with pytest.raises(InputError, match="rounds"):
        SGD(objective="softmax", rounds=0)
