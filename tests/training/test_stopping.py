"""Early stopping on validation accuracy."""

import numpy as np

from myriad.measures import measure
from myriad.training.stopping import EarlyStopping


def measures(top1):
    ranks = np.array([1] * top1 + [9] * (100 - top1), np.int32)
    return measure(ranks, np.zeros(100, np.int32), n_classes=20)


def test_stopping_waits_and_remembers_the_best():
    stopping = EarlyStopping(theta=1.0, patience=2)
    for epoch, top1 in enumerate([60, 60, 60, 61, 62], start=1):
        stopping.watch(epoch, measures(top1))
    assert stopping.done  # a mean of 61 over three epochs is no rise of more than a point over 60
    assert stopping.best_epoch == 5
    assert stopping.best[0] == 61


def test_one_lucky_epoch_is_not_the_best():
    stopping = EarlyStopping()
    for epoch, top1 in enumerate([50, 70, 55, 66, 67, 68, 66], start=1):
        stopping.watch(epoch, measures(top1))
    assert stopping.best_epoch in (6, 7)
