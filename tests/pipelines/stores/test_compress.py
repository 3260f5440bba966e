"""A store of plain rows to a store of codes, and what models make of both."""

import numpy as np
import pytest

from myriad.codes import CodeOptions
from myriad.errors import InputError
from myriad.measures import LabelSets
from myriad.models import load_model
from myriad.pipelines.predicting.evaluate import evaluate
from myriad.pipelines.run import Run
from myriad.pipelines.stores import compress as work
from myriad.pipelines.stores.compress import compress
from myriad.pipelines.training.train import train
from myriad.progress import Progress
from myriad.store import Store
from myriad.training import SGD

N, DIM, CLASSES = 900, 48, 6
KINDS = {
    "pq": CodeOptions("pq", 16),
    "bits": CodeOptions("bits", 64),
    "all bits": CodeOptions("bits"),
    "turned": CodeOptions("turned", 64),
    "all turned": CodeOptions("turned"),
    "bilinear": CodeOptions("bilinear"),
    "scalar": CodeOptions("scalar"),
    "none": CodeOptions("none", keep=0.5),
}


def make_rows():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, N).astype(np.int32)
    means = rng.standard_normal((CLASSES, DIM)) * np.linspace(0, 1.5, DIM)
    X = (rng.standard_normal((N, DIM)) + means[labels]).astype(np.float32)
    return X, labels, np.array(["train", "train", "val", "test"])[np.arange(N) % 4]


def write_store(folder, *, several=False):
    X, labels, splits = make_rows()
    names = [f"class {c}" for c in range(CLASSES)]
    writer = Store.create(
        folder, class_names=names, dim=DIM, n_shards=3, several=several, grouped=True
    )
    for number, part in enumerate(np.array_split(np.arange(N), 3)):
        sets = LabelSets.from_lists([[c, (c + 1) % CLASSES] for c in labels[part]])
        writer.write_shard(
            number,
            X[part],
            sets if several else labels[part],
            [f"row {i}" for i in part],
            splits[part].tolist(),
            [{"path": "bad.jpg", "reason": "cut"}] if number == 1 else [],
            part.astype(np.int32) // 2,
        )
    writer.finish()
    return folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return write_store(tmp_path_factory.mktemp("plain") / "s")


@pytest.fixture(scope="module")
def stores(plain):
    """Return a coded store of each kind, and a model trained on it."""
    made = {"plain": plain}
    for name, options in KINDS.items():
        made[name] = plain.with_name(f"{name}.store")
        compress(plain, made[name], options=options)
    return made


@pytest.fixture(scope="module")
def models(stores):
    trained = {}
    for name, store in stores.items():
        trained[name] = store.with_name(f"{name}.model")
        train(store, trained[name], method=SGD(eta=0.01, beta=4.0, epochs=8), run=Run(threads=1))
    return trained


@pytest.mark.parametrize("name", KINDS)
def test_rows_keep_their_order_labels_and_names(plain, stores, name):
    before, after = Store.open(plain), Store.open(stores[name])
    np.testing.assert_array_equal(after.labels, before.labels)
    np.testing.assert_array_equal(after.splits, before.splits)
    np.testing.assert_array_equal(after.groups, before.groups)
    assert after.paths == before.paths
    assert after.bad == before.bad
    code = after.code
    assert code.ratio >= (KINDS[name].ratio or 1)
    expected = code.decode(code.encode(make_rows()[0]))
    np.testing.assert_array_equal(after.rows().read(np.arange(N)), expected)


@pytest.mark.parametrize("name", KINDS)
def test_a_model_of_codes_ranks_coded_and_plain_rows(stores, models, name):
    coded = evaluate(models[name], stores[name], run=Run(threads=1))
    plain = evaluate(models[name], stores["plain"], run=Run(threads=1))
    unrounded = evaluate(models[name], stores["plain"], plain=True, run=Run(threads=1))
    assert coded.measures.n == plain.measures.n == N // 4
    assert coded.measures.at(1) > 70
    if not Store.open(stores[name]).code.restores:  # plain rows are coded as the others were
        np.testing.assert_array_equal(coded.scored.guesses, plain.scored.guesses)
    for found in (plain, unrounded):
        assert found.measures.at(1) > coded.measures.at(1) - 8


@pytest.mark.parametrize("name", KINDS)
def test_a_model_of_plain_rows_ranks_coded_ones(stores, models, name):
    found = evaluate(models["plain"], stores[name], run=Run(threads=1))
    assert found.measures.at(1) > 60


def test_rows_of_another_code_are_refused(plain, models, tmp_path):
    compress(plain, tmp_path / "s", options=CodeOptions("bits", 64, bins=2))
    with pytest.raises(InputError, match="another code"):
        evaluate(models["bits"], tmp_path / "s")
    assert load_model(models["bits"]).model.dim == DIM


@pytest.mark.parametrize("name", ["bits", "turned"])
def test_bits_are_shortened_without_learning(plain, stores, tmp_path, name):
    cut = compress(stores[f"all {name}"], tmp_path / "cut", options=CodeOptions(name, 64))
    whole = Store.open(stores[name])
    assert cut.error is None
    np.testing.assert_array_equal(cut.store.code.chosen, whole.code.chosen)
    np.testing.assert_array_equal(cut.store.read_codes(0, N), whole.read_codes(0, N))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pq", CodeOptions("bits")),
        ("pq", CodeOptions("pq")),
        ("bits", CodeOptions("bits", 64)),
        ("bits", CodeOptions("bits")),
        ("bits", CodeOptions("pq")),
        ("all bits", CodeOptions("turned", 64)),
        ("all turned", CodeOptions("bits", 64)),
    ],
)
def test_coded_stores_are_refused(stores, tmp_path, name, options):
    with pytest.raises(InputError, match="already encoded"):
        compress(stores[name], tmp_path / "s", options=options)
    assert not (tmp_path / "s").exists()


def test_hadamard_and_turned_are_one_code(plain, stores, tmp_path):
    """The older name is accepted, and is the one in files."""
    after = compress(plain, tmp_path / "s", options=CodeOptions("hadamard", 64)).store
    assert after.code.kind == after.plan["codes"] == "turned"
    for path in sorted(stores["turned"].iterdir()):
        assert path.read_bytes() == (after.path / path.name).read_bytes()


def test_a_store_is_not_written_over_itself(plain):
    with pytest.raises(InputError, match="the store itself"):
        compress(plain, plain, run=Run(overwrite=True))


def test_several_labels_are_kept(tmp_path):
    source = Store.open(write_store(tmp_path / "several", several=True))
    after = compress(source.path, tmp_path / "bits", options=CodeOptions("bits", 64)).store
    np.testing.assert_array_equal(after.sets.classes, source.sets.classes)
    np.testing.assert_array_equal(after.sets.starts, source.sets.starts)


def test_rows_without_labels_can_be_turned(tmp_path):
    writer = Store.create(tmp_path / "s", class_names=["ant"], dim=DIM, n_shards=1)
    writer.write_shard(0, make_rows()[0], [-1] * N, [str(i) for i in range(N)], "train")
    writer.finish()
    coded = compress(tmp_path / "s", tmp_path / "coded", options=CodeOptions("turned", 64))
    assert coded.code.information is None
    assert coded.code.ratio == 64


class Stop(Progress):
    """Breaks the work off after some rows."""

    def __init__(self, rows):
        self.left = rows

    def step(self, title, total=None, unit=""):
        from contextlib import contextmanager

        @contextmanager
        def counting():
            yield self._count if title == "Encoding rows" else lambda n: None

        return counting()

    def _count(self, n):
        self.left -= n
        if self.left < 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["bits", "pq"])
@pytest.mark.parametrize("threads", [1, 2])
def test_resumed_to_the_same_bytes(plain, stores, tmp_path, monkeypatch, name, threads):
    monkeypatch.setattr(work, "count_shards", lambda n, size: 5)
    whole = compress(plain, tmp_path / "whole", options=KINDS[name], run=Run(threads=1)).store
    broken = tmp_path / "broken"
    with pytest.raises(KeyboardInterrupt):
        compress(plain, broken, options=KINDS[name], run=Run(progress=Stop(500), threads=threads))
    with pytest.raises(InputError, match="exists"):
        compress(plain, broken, options=KINDS[name])
    with pytest.raises(InputError, match="was begun with"):
        compress(plain, broken, options=CodeOptions("bits", 96), run=Run(resume=True))
    again = compress(
        plain, broken, options=KINDS[name], run=Run(resume=True, threads=threads)
    ).store
    for path in sorted(whole.path.iterdir()):
        assert path.read_bytes() == (again.path / path.name).read_bytes()
