"""Held-out rows: how they are chosen, and how models are ranked on them."""

import numpy as np
import pytest

from myriad.measures import LabelSets, measure, rank_all_labels
from myriad.models import LinearModel
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training import hold_out
from myriad.training.validation import ModelRanker, validate


def test_hold_out_takes_from_every_class_that_can_spare_a_row():
    labels = np.array([0] * 10 + [1] * 2 + [2], np.int32)
    rows = ArrayRows(np.eye(13, dtype=np.float32), labels)
    kept, held = hold_out(rows, 0.1, seed=0)
    assert sorted(held.labels) == [0, 1]
    assert kept.n_rows + held.n_rows == 13
    alone, nothing = hold_out(rows.select([0, 10, 12]), 0.1, seed=0)
    assert alone.n_rows == 3
    assert nothing is None


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_accuracy_is_that_of_the_model(several, threads):
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((50, 4), dtype=np.float32), rng.integers(0, 6, 50)
    model = LinearModel(rng.standard_normal((6, 4), dtype=np.float32), np.zeros(6, np.float32))
    truths = labels.astype(np.int32)
    if several:
        truths = LabelSets.from_lists([[c, (c + 1) % 6][: 1 + c % 2] for c in labels.tolist()])
    expected = measure(rank_all_labels(model.scores(X), truths), truths, n_classes=6)
    with open_threads(threads) as pool:
        (found,) = validate(ModelRanker(model, size=7), ArrayRows(X, truths), pool=pool)
    assert found.to_json() == expected.to_json()


def test_hold_out_does_not_divide_groups():
    labels, groups = np.arange(200) % 4, np.arange(200) // 8
    rows = ArrayRows(np.zeros((200, 2), np.float32), labels, groups=groups)
    kept, held = hold_out(rows, 0.2, seed=0)
    assert 20 <= held.n_rows <= 60
    assert not set(kept.groups) & set(held.groups)
