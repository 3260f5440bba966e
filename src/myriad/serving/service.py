"""The service behind the routes: a queue, worker processes, batches, reloading of the model."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from myriad.errors import MyriadError, WorkError
from myriad.images import BadImage
from myriad.models import Decider
from myriad.parallel import open_processes, thread_count
from myriad.parallel.processes import ProcessExecutor
from myriad.parallel.threads import hold_blas_to_one_thread
from myriad.progress import SILENT, Progress
from myriad.serving.batching import Batcher
from myriad.serving.metrics import Metrics
from myriad.serving.options import ServeOptions
from myriad.serving.refusal import RETRY_AFTER, Refusal
from myriad.serving.served_model import DecisionRules, ImageWork, ServedModel, read_state
from myriad.signatures import Signature

Row = NDArray[np.float32]
Task = tuple[bytes, Row | None]
"""An image, and weights if its score is to be explained."""

RELOAD_SECONDS = 1.0
"""Interval in seconds between checks of the model folder."""
WORKER_SECONDS = 30.0
"""Minimum time after which a worker that has not finished an image is killed."""
BROKEN = "a library that reads it failed or took too long"


class Query(NamedTuple):
    """How rows are ranked; rows of requests with equal queries are scored together."""

    decider: Decider
    k: int


class Service:
    """A model that answers requests; made by `open_service`.

    Attributes
    ----------
    model : the model that new requests get.
    pending : images that wait for a worker or are with one.
    """

    def __init__(
        self, path: Path, model: ServedModel, options: ServeOptions, pool: ProcessExecutor | None
    ) -> None:
        self.path, self.model, self.options = path, model, options
        self.metrics = Metrics()
        self.pending = 0
        self.ready = False
        self._pool = pool
        n_threads = 1 if pool is None else pool.n_workers
        self._threads = ThreadPoolExecutor(n_threads, thread_name_prefix="myriad serving")
        self._batcher: Batcher[Query] = Batcher(_predict_rows, self._count_batch)
        self._worker_call: tuple[Signature, Callable[[Task], Any]] | None = None

    def _count_batch(self, n_rows: int) -> None:
        self.metrics.count("batches")
        self.metrics.count("rows", n_rows)

    async def start(self) -> None:
        """Warm up: kernels are compiled, and every worker has the signature, before requests."""
        model = self.model
        await self._warm_up(model)
        if model.signature is not None and self._pool is not None:
            noise = make_noise_image()
            await self._run(model, [(noise, None)])  # the first worker compiles for all
            await self._run(model, [(noise, None)] * self._pool.n_workers)
        self.ready = True

    def make_query(
        self,
        model: ServedModel,
        k: int,
        *,
        coverage: float | None = None,
        only: tuple[str, ...] = (),
    ) -> Query:
        """Return the query of a request; raises `InputError` if the model does not support it."""
        return Query(model.find_decider(coverage=coverage, only=only), k)

    async def _warm_up(self, model: ServedModel) -> None:
        """Score a row, so that kernels are compiled and weights are in memory."""
        row = np.zeros((1, model.folder.model.dim), np.float32)
        await self.predict(self.make_query(model, 1), row)

    async def predict(self, query: Query, rows: Row) -> Sequence[dict[str, Any]]:
        """Return the ranked labels of each row."""
        return await self._batcher.score(query, rows)

    async def describe(self, model: ServedModel, contents: Sequence[bytes]) -> list[Row | BadImage]:
        """Return the row of each image, or why it cannot be read.

        Raises `Refusal` (503) if too many images are waiting.
        """
        rows = await self._run(model, [(content, None) for content in contents])
        bad = sum(isinstance(row, BadImage) for row in rows)
        self.metrics.count("images", len(rows) - bad)
        self.metrics.count("bad_images", bad)
        return rows

    async def map_heat(self, model: ServedModel, content: bytes, weights: Row) -> Row | BadImage:
        """Return the heat map of an image for the score ``weights @ row``."""
        (heat,) = await self._run(model, [(content, weights)])
        return heat

    async def _run(self, model: ServedModel, tasks: Sequence[Task]) -> list[Row | BadImage]:
        """Run tasks in worker processes, unless too many are waiting already."""
        if model.signature is None:
            raise Refusal(422, "This model was trained on rows, not on images: send rows.")
        if self.pending and self.pending + len(tasks) > self.options.queue:
            self.metrics.count("refused")
            raise Refusal(503, "Too many images are waiting. Try again.", RETRY_AFTER)
        call = self._worker_function(model)
        self.pending += len(tasks)
        try:
            return await asyncio.gather(*(self._run_one(call, task) for task in tasks))
        finally:
            self.pending -= len(tasks)

    async def _run_one(self, call: Callable[[Task], Any], task: Task) -> Row | BadImage:
        loop = asyncio.get_running_loop()
        try:
            result: Row | BadImage = await loop.run_in_executor(self._threads, call, task)
        except (WorkError, TimeoutError):
            return BadImage(BROKEN)  # workers crashed, or one was killed after the timeout
        return result

    def _worker_function(self, model: ServedModel) -> Callable[[Task], Any]:
        """Return the function that calls a worker for images of a model; one per signature."""
        assert model.signature is not None
        assert self._pool is not None
        if self._worker_call is None or self._worker_call[0] is not model.signature:
            work = ImageWork(model.signature, self.options.max_pixels)
            call = self._pool.bind(work, timeout=max(self.options.timeout, WORKER_SECONDS))
            self._worker_call = (model.signature, call)
        return self._worker_call[1]

    async def watch(self, progress: Progress) -> None:
        """Load the model again whenever its folder is replaced; running requests keep the old."""
        failed: tuple[int, ...] = ()
        while True:
            await asyncio.sleep(RELOAD_SECONDS)
            state = await asyncio.to_thread(read_state, self.path)
            if state in ((), failed, self.model.state):
                continue
            try:
                model = await asyncio.to_thread(ServedModel.load, self.path, self.model.rules)
                await self._warm_up(model)
            except (MyriadError, OSError) as error:
                failed = state
                progress.note(f"The replaced model is not used: {error}")
                continue
            if (model.signature is None) != (self.model.signature is None):
                failed = state
                progress.note("The replaced model takes other input: restart the server.")
                continue
            self.model = model
            self.metrics.count("reloads")
            progress.note("The model was replaced on disk and loaded again.")

    def close(self) -> None:
        """End the threads; the owner of the pool ends the workers."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._batcher.close()


def _predict_rows(query: Query, rows: Row) -> list[dict[str, Any]]:
    """Return the decision for each row, as ``predict --json`` prints it."""
    decider = query.decider
    return decider.describe(decider.decide(rows, query.k))


@contextlib.asynccontextmanager
async def open_service(
    path: Path,
    options: ServeOptions,
    *,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> AsyncIterator[Service]:
    """Yield a service that is ready; a damaged model raises `InputError` before."""
    model = ServedModel.load(path, DecisionRules.read(options))
    n_workers = thread_count(threads)
    preload = ["myriad.serving.served_model"]
    with contextlib.ExitStack() as stack:
        pool = None
        if model.signature is not None:
            pool = stack.enter_context(open_processes(n_workers, preload=preload))
        else:
            stack.enter_context(hold_blas_to_one_thread())
        service = Service(path, model, options, pool)
        watching: asyncio.Task[None] | None = None
        try:
            await service.start()
            watching = asyncio.create_task(service.watch(progress))
            yield service
        finally:
            if watching is not None:
                watching.cancel()
            if pool is not None:
                pool.close()
            service.close()


def make_noise_image() -> bytes:
    """Return a small noise image as a PNG file; it is not uniform, so that it has descriptors."""
    noise = np.arange(64 * 64 * 3, dtype=np.uint32) * np.uint32(2654435761) >> np.uint32(24)
    done, coded = cv2.imencode(".png", noise.astype(np.uint8).reshape(64, 64, 3))
    assert done
    return coded.tobytes()
