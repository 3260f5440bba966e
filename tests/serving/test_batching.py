"""Batches: rows that arrive while others are scored are scored together, and none waits."""

import asyncio
import threading

import numpy as np
import pytest

from myriad.serving.batching import MOST_ROWS, Batcher


def row(value, n=1):
    return np.full((n, 2), value, np.float32)


def test_a_lone_row_is_scored_at_once_and_later_ones_together():
    sizes, started, go = [], threading.Event(), threading.Event()

    def score(key, rows):
        if not started.is_set():
            started.set()
            go.wait(60)
        return [(key, value) for value in rows[:, 0].tolist()]

    async def run():
        batcher = Batcher(score, sizes.append)
        first = asyncio.create_task(batcher.score("a", row(0)))
        await asyncio.to_thread(started.wait, 60)  # it is being scored, though nothing else came
        others = [asyncio.create_task(batcher.score("ab"[i % 2], row(i))) for i in range(1, 7)]
        await asyncio.sleep(0)
        go.set()
        answers = await asyncio.gather(first, *others)
        batcher.close()
        return answers

    answers = asyncio.run(run())
    assert [one[0] for one in answers] == [("ab"[i % 2], i) for i in range(7)]
    assert sizes == [1, 3, 3]  # one batch for each key


def test_an_error_reaches_its_requests_only():
    def score(key, rows):
        if key == "bad":
            raise ValueError("no")
        return rows[:, 0].tolist()

    async def run():
        batcher = Batcher(score, lambda n: None)
        calls = (batcher.score(key, row(7)) for key in ("bad", "good", "bad"))
        answers = await asyncio.gather(*calls, return_exceptions=True)
        batcher.close()
        return answers

    bad, good, worse = asyncio.run(run())
    assert isinstance(bad, ValueError)
    assert isinstance(worse, ValueError)
    assert good == [7.0]


def test_batches_are_bounded_and_cancelled_requests_do_no_harm():
    sizes = []

    async def run():
        batcher = Batcher(lambda key, rows: list(rows), sizes.append)
        calls = [asyncio.create_task(batcher.score("a", row(1, 500))) for _ in range(5)]
        await asyncio.sleep(0)
        calls[1].cancel()
        done = await asyncio.gather(*calls, return_exceptions=True)
        batcher.close()
        return done

    done = asyncio.run(run())
    assert isinstance(done[1], asyncio.CancelledError)
    assert all(len(one) == 500 for i, one in enumerate(done) if i != 1)
    assert max(sizes) <= MOST_ROWS


@pytest.mark.parametrize("n", [1, 3])
def test_results_keep_their_rows(n):
    async def run():
        batcher = Batcher(lambda key, rows: rows[:, 0].tolist(), lambda size: None)
        answers = await asyncio.gather(*(batcher.score("a", row(i, n)) for i in range(20)))
        batcher.close()
        return answers

    assert asyncio.run(run()) == [[float(i)] * n for i in range(20)]
