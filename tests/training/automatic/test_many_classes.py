"""Tests of the space of discriminant analysis that is chosen on a sample of the classes."""

import numpy as np
import pytest

from myriad.store import ArrayRows
from myriad.training import Context
from myriad.training.automatic import many_classes
from myriad.training.automatic.discriminant_families import (
    STRONGEST_SPACE,
    WEAKEST_SPACE,
    read_lam,
)
from myriad.training.automatic.many_classes import ManyClasses
from myriad.training.automatic.method import Automatic


def make_rows(*, seed, n_classes=40, noise=0.3, scale=1.5):
    """Classes that differ only in directions of little noise, so that a weak lam is best."""
    means = scale * noise * np.random.default_rng(0).standard_normal((n_classes, 20))
    means *= np.arange(20) < 10
    y = np.repeat(np.arange(n_classes), 8).astype(np.int32)
    X = np.random.default_rng(seed).standard_normal((len(y), 20))
    X *= np.where(np.arange(20) < 10, noise, 3.0)
    return ArrayRows((X + means[y]).astype(np.float32), y)


def choose(train, val, n_classes, threads=1):
    return ManyClasses(Automatic(), n_classes, Context(threads=threads)).choose_space(train, val)


@pytest.fixture(autouse=True)
def _few_classes(monkeypatch):
    monkeypatch.setattr(many_classes, "SAMPLED_CLASSES", 12)


def test_the_space_of_weak_regularisation_is_found_where_it_is_best():
    train, val = make_rows(seed=1), make_rows(seed=2)
    lam = choose(train, val, 40)
    assert lam in [read_lam(half) for half in range(STRONGEST_SPACE, WEAKEST_SPACE + 1)]
    assert lam < read_lam(1)


def test_it_is_the_same_on_two_threads():
    train, val = make_rows(seed=1), make_rows(seed=2)
    assert choose(train, val, 40) == choose(train, val, 40, threads=2)


def test_the_sample_is_bounded(monkeypatch):
    monkeypatch.setattr(many_classes, "SAMPLED_ROWS", 30)
    drawn = many_classes._read_classes(
        make_rows(seed=1), np.arange(5, 15, dtype=np.int32), np.random.default_rng(0)
    )
    assert drawn.n_rows == 30
    assert set(drawn.labels) <= set(range(10))
    assert drawn.class_names == [str(c) for c in range(5, 15)]


def test_nothing_is_chosen_without_validation_rows_of_two_classes():
    train, val = make_rows(seed=1), make_rows(seed=2)
    assert choose(train, val.select(np.flatnonzero(val.labels == 3)), 40) is None
