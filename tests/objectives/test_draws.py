"""Random draws of wrong classes."""

import numpy as np
import pytest

from myriad.objectives.draws import (
    draw_position,
    draw_stride,
    draw_wrong,
    next_position,
    stride_of,
)

N_CLASSES = 20


def key(number):
    return np.uint64(number * 0x9E3779B97F4A7C15 % 2**64)


def test_draws_are_uniform_over_wrong_classes():
    drawn = np.array([draw_wrong(key(n), 0, N_CLASSES, np.array([7])) for n in range(19_000)])
    counts = np.bincount(drawn, minlength=N_CLASSES)
    assert counts[7] == 0
    assert np.abs(np.delete(counts, 7) - 1000).max() < 150


@pytest.mark.parametrize("n", [1, 2, 19, 60, 97])
def test_strides_visit_every_position(n):
    for number in range(30):
        stride = stride_of(key(number), n)
        assert len({(draw * stride) % n for draw in range(n)}) == n


@pytest.mark.parametrize("n", [1, 2, 19, 60])
@pytest.mark.parametrize("replacement", [False, True])
def test_positions_follow_one_another(n, replacement):
    for number in range(30):
        start, stride = draw_position(key(number), 0, n), draw_stride(key(number), n, replacement)
        found = [start]
        for draw in range(1, n):
            found.append(next_position(found[-1], stride, key(number), draw, n))
        if replacement:
            assert found == [draw_position(key(number), draw, n) for draw in range(n)]
        else:
            assert found == [(start + draw * stride) % n for draw in range(n)]
            assert sorted(found) == list(range(n))
