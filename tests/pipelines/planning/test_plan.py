"""Plans: sizes that can be counted by hand, advice, and what is remembered of a machine."""

import json
import math
from dataclasses import replace

import pytest

from myriad.codes import CODES
from myriad.errors import InputError
from myriad.pipelines.describing.extract import ExtractOptions
from myriad.pipelines.planning import machine as machines
from myriad.pipelines.planning.machine import Machine, load_or_measure_machine
from myriad.pipelines.planning.plan import LIKE, Job, advise, plan, plan_extraction, plan_training

CORE = Machine(sgemm=4e10, decode=2e9, read=5e8, write=5e8, cores=2, memory=16 << 30)
PACES = {"dense": 2e10, "sampled": 4e9, "multiclass": 2e10, "ranking": 4e9, "warp": 2e10}
PACES |= {
    "softmax": 1e10,
    "softmax, sampled": 4e9,
    "softmax, sampled, averaged": 2e9,
    "softmax, averaged": 5e9,
}


def measure_speed(passes, threads, **rest):
    """Return a pace as if one core did half of two."""
    return PACES[passes.kind] * threads / 2


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(
        "myriad.pipelines.planning.plan.load_or_measure_machine", lambda **rest: CORE
    )
    monkeypatch.setattr("myriad.pipelines.planning.plan.measure_speed", measure_speed)


@pytest.mark.usefixtures("known")
def test_rows_that_are_there_are_only_trained_on():
    planned = plan(Job(images=10_000, classes=100, dim=512, objective="multiclass"))
    assert [step.step for step in planned.rows] == ["search the settings", "train", "in all"]
    train, whole = planned.rows[1:]
    assert train.disk == 4 * 100 * 512
    assert train.memory >= 2 * 4 * 100 * 512
    assert whole.seconds == sum(step.seconds for step in planned.rows[:-1])
    assert planned.bytes_per_row == 2048
    assert planned.advice == []
    json.dumps(planned.to_json(), allow_nan=False)


def test_time_falls_with_workers_and_grows_with_rows():
    job = Job(images=100_000, classes=1000, dim=4096, objective="multiclass", epochs=4)
    one = plan_training(job, CORE, {"multiclass": 1e10}, 4096, 512, 1)[1]
    scoring = 90_000 * 1000 * 4096 / 1e10
    assert scoring < one.seconds < 1.4 * scoring
    two = plan_training(job, CORE, PACES, 4096, 512, 2)[1]
    assert 1.9 * two.seconds < one.seconds < 2 * two.seconds
    four = plan_training(job, CORE, PACES, 4096, 512, 4)[1]
    assert two.seconds == pytest.approx(1.9 * four.seconds)  # two machines of two cores
    more = plan_training(replace(job, images=200_000), CORE, PACES, 4096, 512, 2)[1]
    assert more.seconds == pytest.approx(2 * two.seconds)


@pytest.mark.usefixtures("known")
def test_averages_take_time_and_memory():
    job = Job(images=100_000, classes=1000, dim=4096, objective="softmax", negatives=64)
    one, two = plan(job), plan(replace(job, average=True))
    weights = 4 * 1000 * 4096
    assert two.rows[1].memory == one.rows[1].memory + weights
    assert 1.8 * one.rows[1].seconds < two.rows[1].seconds < 2 * one.rows[1].seconds


def test_trace_takes_gradients_and_the_memory_of_factors():
    job = Job(images=20_000, classes=500, dim=1024, objective="trace")
    (step,) = plan_training(job, CORE, {}, 1024, 4096, 1)
    gradient = 18_000 * 2 * 500 * 1024 / 4e10
    assert 100 * gradient < step.seconds < 400 * gradient
    assert step.disk == 4 * 256 * (500 + 1024)
    large = plan_training(replace(job, classes=100_000), CORE, {}, 4096, 16_384, 1)[0]
    assert large.memory < 4 * 100_000 * 4096


def test_few_negatives_cost_little():
    job = Job(images=100_000, classes=10_000, dim=1024, beta=8.0)
    few = plan_training(job, CORE, PACES, 1024, 4096, 1)[1].seconds
    everything = replace(job, beta=math.inf)
    all_of_them = plan_training(everything, CORE, PACES, 1024, 4096, 1)[1].seconds
    assert few < all_of_them / 5
    softmax = replace(job, objective="softmax")
    sampled = replace(softmax, negatives=64)
    seconds = [
        [step.seconds for step in plan_training(one, CORE, PACES, 1024, 4096, 1)]
        for one in (sampled, softmax)
    ]
    assert seconds[0][0] < seconds[1][0] / 20
    assert seconds[0][1] < seconds[1][1] / 5


def test_extraction_counts_images_and_bytes():
    job = Job(images=1_000_000, classes=1000, extracting=ExtractOptions("fisher"))
    steps = plan_extraction(job, CORE, 131_072, 16_384, 0.05, 2.0, 2)
    assert [step.step for step in steps] == ["learn the vocabulary", "learn the codes", "extract"]
    assert steps[-1].disk == 1_000_000 * 16_384
    assert steps[-1].seconds == pytest.approx(25_000)
    plain = replace(job, extracting=ExtractOptions("fisher", codes="none"))
    assert len(plan_extraction(plain, CORE, 131_072, 4 * 131_072, 0.05, 2.0, 2)) == 2
    automatic = plan_extraction(
        replace(job, extracting=ExtractOptions()), CORE, 2560, 10_240, 0.05, 2, 2
    )
    assert [step.step for step in automatic] == ["choose the signature", "extract"]


@pytest.mark.usefixtures("known")
def test_advice_is_given_where_a_job_does_not_fit():
    job = Job(images=2_000_000, classes=12_500, dim=131_072, objective="warp")
    planned = plan(job, memory=4 << 30)
    assert len(planned.advice) == 2
    assert "12,500 x 131,072 weights" in planned.advice[1]
    assert "--components" in planned.advice[1]
    tight = advise(job, planned.rows, 1 << 50, 1 << 20, 131_072)
    assert len(tight) == 1
    assert "The disk must hold" in tight[0]


@pytest.mark.parametrize(
    "wrong", [{"read": None}, {"write": math.inf}, {"sgemm": 0}, {"cores": True}]
)
def test_machines_that_cannot_be(wrong):
    with pytest.raises(InputError, match="rates of a machine"):
        replace(CORE, **wrong)


def test_jobs_of_the_papers_have_their_sizes():
    assert (LIKE["imagenet10k"][0].images, LIKE["imagenet10k"][0].classes) == (9_000_000, 10_184)
    assert (LIKE["web97k"][0].images, LIKE["web97k"][0].dim) == (40_000_000, 1024)


@pytest.mark.parametrize(
    "wrong",
    [
        {"classes": 1},
        {"images": 0},
        {"objective": "best"},
        {"beta": 0.0},
        {"negatives": 4},
        {"epochs": 0},
        {"objective": "trace", "average": True},
    ],
)
def test_jobs_that_cannot_be(wrong):
    with pytest.raises(InputError):
        Job(**({"images": 10, "classes": 2} | wrong))


def test_a_machine_is_measured_once_and_damaged_caches_are_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    calls = []
    monkeypatch.setattr(machines, "measure_machine", lambda **rest: calls.append(1) or CORE)
    assert load_or_measure_machine() == load_or_measure_machine() == CORE
    assert len(calls) == 1
    load_or_measure_machine(again=True)
    assert len(calls) == 2
    path = tmp_path / "myriad" / "machine.json"
    for damage in ("{", '{"key": 1}', path.read_text().replace("sgemm", "x")):
        path.write_text(damage)
        assert load_or_measure_machine() == CORE
    assert len(calls) == 5


def test_measures_are_plausible(monkeypatch):
    monkeypatch.setattr(machines, "DISK_BYTES", 4 << 20)
    found = machines.measure_machine()
    assert found.sgemm > 1e8
    assert found.cores >= 1
    assert found.memory > 1 << 28


@pytest.mark.parametrize("codes", [name for name in CODES if name != "none"])
def test_every_code_is_planned_at_its_size(codes):
    spec = CODES[codes]
    code = spec.estimate(100, 100)
    assert code.dim == 100
    assert code.ratio >= spec.ratio * 0.9
    job = Job(images=1000, classes=10, extracting=ExtractOptions("fisher", codes=codes))
    steps = plan_extraction(job, CORE, 100, code.bytes_per_row, 0.05, 2.0, 2)
    assert [step.step for step in steps] == ["learn the vocabulary", "learn the codes", "extract"]
