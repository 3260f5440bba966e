"""Steps on classes drawn beforehand: by several threads, on rows that are not copied."""

import numpy as np
import pytest

from myriad.errors import InputError, WorkError
from myriad.measures import LabelSets
from myriad.parallel import open_threads
from myriad.store import ArrayRows
from myriad.training.optimiser import OptimiserOptions
from myriad.training.settings import Setting
from myriad.training.sgd import joint
from myriad.training.sgd.drawn_class_kernels import dot_both
from myriad.training.sgd.joint import Joint
from tests.reference import joint as reference
from tests.reference.draws import mix

EPOCHS, SEED, N_CLASSES = 2, 5, 100
SAMPLED = [{"objective": "softmax", "negatives": n} for n in (1, 7, N_CLASSES - 1)]
OBJECTIVES = ({"objective": "ranking"}, {"objective": "auc"}, *SAMPLED)


def make_rows(n=1500, dim=13, dtype=np.float64, **more):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, N_CLASSES, n)
    X = rng.standard_normal((n, dim)) + rng.standard_normal((N_CLASSES, dim))[labels]
    return ArrayRows(X.astype(dtype), labels, dtype=dtype, **more)


def train(rows, setting, *, objective="ranking", threads=1, **more):
    options = {"objective": objective, "bias_rate": 0.1, "dtype": rows.dtype} | more
    trainer = Joint([setting], N_CLASSES, rows.dim, **options)
    with open_threads(threads) as pool:
        for _ in range(EPOCHS):
            trainer.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    return trainer


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("lam", [0.0, 1.0])  # the second is folded into the weights again and again
@pytest.mark.parametrize("tame", [{}, {"average": True}, {"adagrad": "class"}, {"max_norm": 0.4}])
def test_threads_side_by_side_equal_plain_sgd(objective, lam, tame, monkeypatch):
    if "negatives" in objective and "max_norm" in tame:
        pytest.skip("refused")
    monkeypatch.setattr(joint, "ZERO_COPY_ROWS", 701)
    rows, setting = make_rows(weights=np.linspace(0.5, 2.0, 1500)), Setting(0.05, lam=lam)
    expected = reference.train(
        rows.X,
        [[label] for label in rows.labels],
        [rows.order(seed=SEED, epoch=epoch) for epoch in range(EPOCHS)],
        n_classes=N_CLASSES,
        step=lambda t: setting.eta,
        lam=lam,
        bias_rate=0.1,
        seed=SEED,
        weights=rows.weights,
        tame=tame,
        **objective,
    )
    options = objective | {"optimiser": OptimiserOptions(**tame)}
    trained = [train(rows, setting, threads=threads, **options) for threads in (1, 2, 3)]
    for found, layout in zip(trained[0].weights(), expected, strict=True):
        assert np.abs(layout).max() > 1e-4
        np.testing.assert_allclose(found, layout, rtol=0, atol=1e-10)
    assert len({trainer.V.tobytes() for trainer in trained}) == 1


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_rows_left_where_they_lie_give_the_weights_of_copied_ones(objective):
    rows, setting = make_rows(dtype=np.float32), Setting(0.02, lam=0.001)
    zero_copy = train(rows, setting, threads=2, **objective)
    assert rows.zero_copy_blocks(10, seed=0, epoch=0) is not None
    copied = ArrayRows(np.asfortranarray(rows.X), rows.labels)
    assert copied.zero_copy_blocks(10, seed=0, epoch=0) is None
    rows.X.flags.writeable = False
    for other in (rows, copied):
        trained = train(other, setting, **objective)
        assert trained.V.tobytes() == zero_copy.V.tobytes()


def test_sampled_softmax_resumes_from_a_checkpoint():
    rows, setting = make_rows(), Setting(0.05, lam=0.01)
    options = {"objective": "softmax", "negatives": 7, "bias_rate": 0.1}
    optimiser = OptimiserOptions(average=True, adagrad="class")
    whole = train(rows, setting, optimiser=optimiser, **options)
    halves = [
        Joint([setting], N_CLASSES, rows.dim, dtype=rows.dtype, optimiser=optimiser, **options)
        for _ in range(2)
    ]
    with open_threads(1) as pool:
        for epoch, trainer in enumerate(halves):
            if epoch:
                trainer.restore(halves[0].state())
                trainer.epoch = epoch
            trainer.run_epoch(rows, seed=SEED, pool=pool, advance=lambda n: None)
    assert halves[1].weights()[0].tobytes() == whole.weights()[0].tobytes()


def test_softmax_with_all_negatives_drawn_is_softmax():
    rows, setting = make_rows(), Setting(0.05, lam=0.01)
    drawn = train(rows, setting, objective="softmax", negatives=2 * N_CLASSES)
    every = train(rows, setting, objective="softmax")
    for found, expected in zip(drawn.weights(), every.weights(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_drawn_softmax_estimates_the_sum_of_all_classes():
    draws, n_drawn, sums = 4000, 5, []
    scores = np.random.default_rng(0).standard_normal(N_CLASSES)
    for key in range(draws):
        coefficients = reference.push(
            "softmax", scores, [3], mix(9, key), {"negatives": n_drawn}, None
        )
        probability = 1 - coefficients[3]
        sums.append(np.exp(scores[3]) / probability)
    error = np.std(sums) / np.sqrt(draws)
    assert abs(np.mean(sums) - np.exp(scores).sum()) < 4 * error


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_found_in_place(threads, value, objective):
    rows = make_rows(dtype=np.float32)
    rows.X[[70, 1203], 4] = value
    chosen = rows.select(np.arange(60, 80))
    with pytest.raises(InputError, match=r"Row 70 has a NaN, infinite or too large value\."):
        train(chosen, Setting(0.02), threads=threads, **objective)


@pytest.mark.parametrize("labels", [[], list(range(N_CLASSES))])
def test_rows_without_a_step_are_looked_at_too(labels):
    rows = make_rows(n=4, dtype=np.float32)
    rows.X[2, 0] = np.nan
    sets = LabelSets.from_lists([[1], [2], labels, [3]])
    rows = ArrayRows(rows.X, sets, [str(c) for c in range(N_CLASSES)])
    with pytest.raises(InputError, match="Row 2 "):
        train(rows, Setting(0.02))


def test_weights_that_overflow_are_no_fault_of_the_rows():
    rows = make_rows(dtype=np.float32)
    with pytest.raises(WorkError, match="epoch 1"):
        train(rows, Setting(1e38))


def test_two_products_in_float32_are_close_to_those_in_float64():
    rng = np.random.default_rng(0)
    v, w, x = rng.standard_normal((3, 4099))
    found = dot_both(*(a.astype(np.float32) for a in (v, w, x)))
    np.testing.assert_allclose(found, (v @ x, w @ x), rtol=0, atol=1e-6 * 4099)
    np.testing.assert_allclose(dot_both(v, w, x), (v @ x, w @ x), rtol=1e-12, atol=1e-12)
