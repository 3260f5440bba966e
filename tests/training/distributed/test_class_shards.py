"""Where the classes of one-vs-rest may be cut into ranges."""

import numpy as np
import pytest

from myriad.training.distributed.class_shards import Problem
from myriad.training.engine.shards import SCORED_SHARD, class_shards, scored_shards
from myriad.training.settings import Setting
from myriad.training.sgd.one_vs_rest import SHARD

SIZES = [1, 64, 65, 129, 257, 300, 1000, 4000, 8000, 10_184, 12_500, 96_812]


@pytest.mark.parametrize("n_classes", SIZES)
def test_shards_that_are_scored_end_where_shards_of_training_do(n_classes):
    scored = scored_shards(n_classes)
    assert [c for s in scored for c in range(s.start, s.stop)] == list(range(n_classes))
    assert max(s.stop - s.start for s in scored) <= SCORED_SHARD
    trained = {shard.start for shard in class_shards(n_classes, SHARD)}
    assert {shard.start for shard in scored} <= trained


@pytest.mark.parametrize("n_classes", [size for size in SIZES if size > 4 * SCORED_SHARD])
@pytest.mark.parametrize("n_settings", [1, 3])
def test_classes_are_cut_into_the_requested_number_of_ranges(n_classes, n_settings):
    settings = (Setting(0.1, 1.0),) * n_settings
    problem = Problem(settings, np.ones(n_classes, np.int64), 4, {})
    for n_ranges in (1, 2, 4):
        ranges = problem.cut(n_ranges)
        assert len(ranges) == n_ranges
        assert [c for own in ranges for c in own] == list(range(n_settings * n_classes))
        sizes = [len(own) for own in ranges]
        assert max(sizes) - min(sizes) <= 2 * SCORED_SHARD
