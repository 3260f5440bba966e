"""Plans of clusters: what is divided by the workers, and what limits them."""

import pytest

from myriad.errors import InputError
from myriad.pipelines.planning.clusters import (
    Cluster,
    count_class_shards,
    plan_clusters,
    scale_steps,
)
from myriad.pipelines.planning.plan import Job, Planned, Step
from tests.pipelines.planning.test_plan import CORE

IDEAL = Cluster(network=1e18, shared=1e18, stragglers=0.0)


def make_plan(objective="ovr", *, classes=9600, dim=1024, images=1_000_000, row_bytes=4096):
    job = Job(images=images, classes=classes, dim=dim, objective=objective, epochs=10, workers=1)
    steps = [Step("train", 10_000.0, 4.0 * classes * dim, 1e9), Step("in all", 10_000.0, 0, 1e9)]
    return Planned(job, CORE, {}, dim, row_bytes, steps, [])


@pytest.mark.parametrize("objective", ["ovr", "multiclass"])
def test_without_limits_time_is_divided_by_the_workers(objective):
    cluster = Cluster(network=1e18, shared=1e18, stragglers=0.0)
    one, four = plan_clusters(make_plan(objective), [1, 4], cluster)
    assert one.seconds == pytest.approx(10_000)
    if objective == "ovr":  # joint objectives average weights, which takes time in memory
        assert four.seconds == pytest.approx(2500)
        assert four.efficiency == pytest.approx(1.0)
    assert four.limit == "computing"


def test_more_workers_than_class_shards_do_not_help():
    planned = make_plan(classes=960)
    shards = count_class_shards(960)
    few, many = plan_clusters(planned, [shards, 8 * shards], IDEAL)
    assert few.seconds == many.seconds


def test_more_workers_than_cores_do_not_help():
    two, four = plan_clusters(make_plan(), [2, 4], Cluster(1e18, 1e18, 0.0, cores=2))
    assert two.seconds == pytest.approx(four.seconds)


def test_every_worker_of_one_vs_rest_reads_all_rows():
    planned = make_plan(images=20_000_000)  # more than the memory of a machine
    few, many = plan_clusters(planned, [4, 512], Cluster(1e10, 1e10, 0.0))
    assert few.limit == "computing"
    assert many.limit == "reading rows"
    assert many.seconds > few.seconds


def test_every_worker_of_one_vs_rest_decodes_all_rows():
    parts = scale_steps(make_plan(row_bytes=128), 64, IDEAL)["train"]
    assert parts["decoding rows"] == pytest.approx(10 * 1_000_000 * 1024 / CORE.decode)


def test_weights_of_joint_objectives_pass_through_one_machine():
    planned = make_plan("warp", classes=96_812)
    few, many = (scale_steps(planned, workers, Cluster())["train"] for workers in (64, 512))
    assert many["exchanging weights"] == pytest.approx(8 * few["exchanging weights"])
    assert plan_clusters(planned, [512], Cluster())[0].limit == "exchanging weights"


def test_the_slowest_worker_is_waited_for():
    calm, uneven = (Cluster(1e18, 1e18, stragglers) for stragglers in (0.0, 0.2))
    seconds = [plan_clusters(make_plan(), [64], cluster)[0].seconds for cluster in (calm, uneven)]
    assert 1.3 * seconds[0] < seconds[1] < 2 * seconds[0]


@pytest.mark.parametrize("wrong", [{"network": 0}, {"shared": -1}, {"stragglers": 1.0}])
def test_clusters_that_cannot_be(wrong):
    with pytest.raises(InputError):
        Cluster(**wrong)
