"""The embedding in blocks against the plain update, one row at a time, fed the same draws."""

import functools

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training.embedding.second_stage import ClassConfusion
from myriad.training.embedding.trainer import Embedding, EmbeddingOptions
from tests.reference import wsabie as reference

EPOCHS = 3
SEED = 5
N_CLASSES = 12
DIM = 4


def make_rows(n=230, n_features=11, n_classes=N_CLASSES, several=False):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_classes, n).astype(np.int32)
    X = rng.standard_normal((n, n_features)) + rng.standard_normal((n_classes, n_features))[labels]
    lists = [[label] for label in labels]
    if several:
        lists = [np.unique(rng.integers(0, n_classes, rng.integers(0, 4))) for _ in range(n)]
        lists[7] = np.arange(n_classes)  # all of them
    y = LabelSets.from_lists(lists) if several else labels
    X = (X / np.sqrt((X**2).mean(axis=0).sum())).astype(np.float32)
    return ArrayRows(X, y, [str(c) for c in range(n_classes)]), lists


def train_fast(rows, *, eta=0.1, margin=0.5, threads=1, n_classes=N_CLASSES, **more):
    names = {"dtype", "block", "score_all", "square", "confusion"}
    settings = {"dtype": np.float64, "square": 1.0} | {k: v for k, v in more.items() if k in names}
    options = EmbeddingOptions(**{k: v for k, v in more.items() if k not in names})
    trainer = Embedding(
        n_classes, rows.dim, DIM, eta=eta, margin=margin, options=options, seed=SEED, **settings
    )
    before = trainer.V.copy()
    with open_threads(threads) as pool:
        for _ in range(EPOCHS):
            trainer.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    return trainer, before


def train_plain(rows, lists, V, *, eta=0.1, margin=0.5, **options):
    if options.pop("sampling", "warp") == "auc":
        options["most"] = 1
    if "max_draws" in options:
        options["most"] = options.pop("max_draws")
    orders = [rows.order(seed=SEED, epoch=epoch) for epoch in range(EPOCHS)]
    return reference.train(
        rows.X, lists, orders, V, n_classes=N_CLASSES, seed=SEED, eta=eta, margin=margin, **options
    )


CASES = [
    {},
    {"last_violators": 8},
    {"last_violators": 1},
    {"last_violators": 1000},
    {"adagrad": "count"},
    {"adagrad": False, "eta": 0.03},
    {"rank_weight": True},
    {"replacement": True},
    {"sampling": "auc"},
    {"max_draws": 3},
    {"max_norm": 0.3},
    {"discriminant": "linear"},
    {"discriminant": "linear", "max_norm": 0.5, "rank_weight": True, "adagrad": False},
]


@functools.cache
def train_case_plainly(number, several, start):
    """Return what the plain update makes of a case, whatever the blocks; `start`: bytes of V."""
    V = np.frombuffer(start).reshape(DIM, -1)
    return train_plain(*make_rows(several=several), V, **CASES[number])


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize(("block", "score_all"), [(1, False), (64, False), (64, True), (256, True)])
@pytest.mark.parametrize("several", [False, True])
def test_equals_the_plain_update(number, block, score_all, several):
    rows, _ = make_rows(several=several)
    trainer, before = train_fast(rows, block=block, score_all=score_all, **CASES[number])
    expected = train_case_plainly(number, several, before.tobytes())
    assert np.abs(expected.P).max() > 0.01
    assert trainer.counts == {
        "draws": expected.draws,
        "steps": expected.steps,
        "passed": expected.passed,
    }
    np.testing.assert_allclose(trainer.V, expected.V, rtol=0, atol=1e-9)
    np.testing.assert_allclose(trainer.P, expected.P, rtol=0, atol=1e-9)


def test_equals_the_plain_update_in_float32():
    rows, lists = make_rows()
    trainer, before = train_fast(rows, dtype=np.float32, last_violators=8)
    expected = train_plain(rows, lists, before, last_violators=8)
    assert trainer.P.dtype == np.float32
    assert trainer.counts["steps"] == expected.steps
    np.testing.assert_allclose(trainer.P, expected.P, rtol=0, atol=1e-4)
    np.testing.assert_allclose(trainer.V, expected.V, rtol=0, atol=1e-4)


@pytest.mark.parametrize("score_all", [False, True])
def test_same_bits_on_any_number_of_threads_and_either_way(score_all):
    rows, _ = make_rows(n=600, n_classes=300)
    options = {"dtype": np.float32, "n_classes": 300}
    plain, _ = train_fast(rows, score_all=False, **options)
    other, _ = train_fast(rows, score_all=score_all, threads=2, **options)
    assert plain.P.tobytes() == other.P.tobytes()
    assert plain.V.tobytes() == other.V.tobytes()


@pytest.mark.parametrize("several", [False, True])
def test_common_confusions_count_less(several):
    rows, lists = make_rows(several=several)
    M = np.random.default_rng(3).random((N_CLASSES, N_CLASSES))
    M[M < 0.5] = 0.0
    np.fill_diagonal(M, 0.0)
    owners, classes = np.nonzero(M)
    starts = np.searchsorted(owners, np.arange(N_CLASSES + 1))
    confusion = ClassConfusion(starts, classes.astype(np.int32), M[owners, classes])
    trainer, before = train_fast(rows, confusion=confusion)
    expected = train_plain(rows, lists, before, confusion=M)
    np.testing.assert_allclose(trainer.P, expected.P, rtol=0, atol=1e-9)
    np.testing.assert_allclose(trainer.V, expected.V, rtol=0, atol=1e-9)


def test_training_may_begin_within_the_bound_of_norms():
    rows, lists = make_rows()
    options = {"init": "ball", "max_norm": 0.5}
    start = Embedding(
        N_CLASSES, rows.dim, DIM, square=1.0, eta=0.1, margin=0.5, dtype=np.float64,
        options=EmbeddingOptions(**options), seed=SEED,
    )  # fmt: skip
    norms = np.linalg.norm(start.P, axis=1)
    assert 0.0 < norms.min() < norms.max() <= 0.5
    V, P = start.V.copy(), start.P.copy()
    trainer, _ = train_fast(rows, **options)
    expected = train_plain(rows, lists, V, P=P, max_norm=0.5)
    np.testing.assert_allclose(trainer.P, expected.P, rtol=0, atol=1e-9)


def test_does_not_depend_on_the_scale_of_the_rows():
    rows, _ = make_rows()
    scaled = ArrayRows(rows.X * 8, rows.labels)
    plain, _ = train_fast(rows)
    other, _ = train_fast(scaled, square=64.0)
    np.testing.assert_allclose(other.P, plain.P, rtol=1e-9)
    np.testing.assert_allclose(other.V * 8, plain.V, rtol=1e-9)


def test_resumes_from_its_state():
    rows, _ = make_rows()
    trainer, _ = train_fast(rows)
    again = Embedding(
        N_CLASSES, rows.dim, DIM, square=1.0, eta=0.1, margin=0.5, dtype=np.float64,
        options=EmbeddingOptions(), seed=9,
    )  # fmt: skip
    again.restore({name: array.copy() for name, array in trainer.state().items()})
    again.epoch = trainer.epoch
    with open_threads(1) as pool:
        for one in (trainer, again):
            one.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    assert trainer.P.tobytes() == again.P.tobytes()
    with pytest.raises(InputError, match="checkpoint"):
        again.restore({"V": trainer.V})


@pytest.mark.parametrize(
    "wrong",
    [
        {"discriminant": "cubic"},
        {"sampling": "none"},
        {"adagrad": "often"},
        {"last_violators": -1},
        {"last_violators": "many"},
        {"forget": "often"},
        {"max_draws": 0},
        {"max_norm": 0.0},
        {"rank_weight": True, "sampling": "auc"},
        {"init": "ball"},
    ],
)
def test_wrong_options(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        EmbeddingOptions(**wrong)
