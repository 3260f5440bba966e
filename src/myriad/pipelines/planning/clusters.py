"""The time of a job on clusters of several sizes, and its bottleneck.

A plan of one core is divided by the workers. Costs that are not divided are added: rows that
every worker reads and decodes, weights that pass through one machine, fewer tasks than workers, and
waiting for the slowest. The model is that of ``docs/cluster.md``:

- one-vs-rest: each worker trains some class shards, and reads and decodes all rows in every epoch;
- joint objectives: each worker trains on its own rows, and the weights of all are averaged by the
  machine of the command, some rounds per epoch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from myriad.errors import InputError
from myriad.store.shards import SHARD_BYTES
from myriad.training import SGD
from myriad.training.engine.shards import class_shards, scored_shards
from myriad.training.sgd.one_vs_rest import SHARD

if TYPE_CHECKING:
    from myriad.pipelines.planning.plan import Planned, Step

VOCABULARY_TASKS = 18
"""Tasks of an iteration of the vocabulary: sums over 16,384 of 300,000 descriptors."""
IMAGE_BYTES = 0.25
"""Bytes of a compressed image, for a pixel."""
TASK_SECONDS = 0.002
"""Seconds that the scheduler spends on a task."""
ADD_BYTES = 4e9
"""Bytes of weights that one core averages in a second, as fast as its memory delivers them."""


@dataclass(frozen=True)
class Cluster:
    """Resources that workers share.

    Attributes
    ----------
    network : bytes per second of the link of one machine.
    shared : bytes per second that the shared file system delivers to all machines together.
    stragglers : standard deviation of the time of a task among workers, as a share of its mean.
    cores : cores of all machines together; None for one each worker.
    """

    network: float = 1.25e9
    shared: float = 2e9
    stragglers: float = 0.1
    cores: int | None = None

    def __post_init__(self) -> None:
        if not (self.network > 0 and self.shared > 0):
            raise InputError("--network and --shared must be above 0.")
        if not 0 <= self.stragglers < 1:
            raise InputError(f"--stragglers must be from 0 to below 1, not {self.stragglers:g}.")

    def divide(self, workers: int) -> float:
        """Return the number of workers that run at the same time."""
        return min(workers, self.cores or workers)

    def wait(self, workers: int) -> float:
        """Return by how much the time of the slowest worker exceeds the mean, as a fraction of it.

        It is the expected maximum of as many standard normal variables.
        """
        return self.stragglers * math.sqrt(2 * math.log(workers)) if workers > 1 else 0.0


@dataclass(frozen=True)
class Scaled:
    """The time of a job on a number of workers.

    Attributes
    ----------
    seconds : of the whole job.
    steps : seconds by step.
    limit : the largest cost of the longest step.
    share : the part of the longest step that it takes.
    efficiency : time of one worker, divided by the time and the number of these.
    """

    workers: int
    seconds: float
    steps: dict[str, float]
    limit: str
    share: float
    efficiency: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``plan`` prints."""
        return asdict(self)


def plan_clusters(planned: Planned, counts: Sequence[int], cluster: Cluster) -> list[Scaled]:
    """Return the time of a job on each number of workers.

    Parameters
    ----------
    planned : the plan of the job for one worker.
    """
    found: list[Scaled] = []
    alone = _add_up(scale_steps(planned, 1, cluster))
    for workers in counts:
        parts = scale_steps(planned, workers, cluster)
        steps = {step: sum(named.values()) for step, named in parts.items()}
        longest = max(steps, key=lambda step: steps[step])
        limit = max(parts[longest], key=lambda name: parts[longest][name])
        seconds = _add_up(parts)
        found.append(
            Scaled(
                workers,
                seconds,
                steps,
                limit,
                parts[longest][limit] / max(steps[longest], 1e-9),
                alone / max(workers * seconds, 1e-9),
            )
        )
    return found


def _add_up(parts: dict[str, dict[str, float]]) -> float:
    return sum(sum(named.values()) for named in parts.values())


def scale_steps(planned: Planned, workers: int, cluster: Cluster) -> dict[str, dict[str, float]]:
    """Return the seconds of each step, by step and by cause."""
    found = {}
    for step in planned.rows[:-1]:
        if step.step in ("search the settings", "train"):
            found[step.step] = scale_training(planned, step, workers, cluster)
        elif step.step == "extract":
            found[step.step] = scale_extraction(planned, step, workers, cluster)
        else:
            n_parallel = cluster.divide(min(workers, VOCABULARY_TASKS))
            waiting = step.seconds / n_parallel * cluster.wait(workers)
            found[step.step] = {"computing": step.seconds / n_parallel, "slowest worker": waiting}
    return found


def scale_extraction(
    planned: Planned, step: Step, workers: int, cluster: Cluster
) -> dict[str, float]:
    """Return the parts of extraction, a task per shard of images; the last tasks are waited for."""
    job = planned.job
    n_tasks = max(1, math.ceil(step.disk / SHARD_BYTES))
    computing = step.seconds / cluster.divide(min(workers, n_tasks))
    task = step.seconds / n_tasks
    moved = job.images * job.pixels * IMAGE_BYTES + step.disk
    return {
        "computing": computing,
        "slowest worker": min(workers, 2) / 2 * task * (1 + cluster.wait(workers)) * (workers > 1),
        "shared file system": max(0.0, moved / cluster.shared - computing),
        "scheduler": max(0.0, n_tasks * TASK_SECONDS - computing),
    }


def scale_training(
    planned: Planned, step: Step, workers: int, cluster: Cluster
) -> dict[str, float]:
    """Return the parts of training; rows are read while others are trained on."""
    job, machine, dim = planned.job, planned.machine, planned.dim
    classes = job.objective == "ovr"
    n_parallel = cluster.divide(workers)
    coded = planned.bytes_per_row < 4 * dim
    decoding_row = dim / machine.decode if coded else 0.0
    epochs = count_epochs(planned, step)
    weights = 4.0 * job.classes * dim
    if classes:
        shards = count_class_shards(job.classes)
        busy, most = min(workers, shards), math.ceil(shards / workers)  # of the worker with most
        computing = max(step.seconds - epochs * job.images * decoding_row, 0.0)
        computing *= most / shards * busy / cluster.divide(busy)
        decoding = epochs * job.images * decoding_row * workers / n_parallel
        readers, exchanged = workers, 2 * weights * epochs / cluster.shared
    else:
        rounds = SGD(objective=job.objective).rounds * (workers > 1)
        computing = max(step.seconds - epochs * job.images * decoding_row, 0.0) / n_parallel
        decoding = epochs * job.images * decoding_row / n_parallel
        # In each round, the machine that runs the command averages the weights of all workers.
        slowest = min(cluster.network, cluster.shared, ADD_BYTES)
        readers, exchanged = 1, epochs * rounds * 2 * workers * weights / slowest
    read = epochs * job.images * planned.bytes_per_row
    reading = max(readers * read / cluster.shared, read / cluster.network)
    if job.images * planned.bytes_per_row < machine.memory:  # later epochs find them in memory
        reading /= max(1.0, epochs)
    working = computing + decoding
    return {
        "computing": computing,
        "decoding rows": decoding,
        "slowest worker": working * cluster.wait(workers),
        "reading rows": max(0.0, reading - working) if workers > 1 else 0.0,
        "exchanging weights": exchanged if workers > 1 else 0.0,
    }


def count_class_shards(n_classes: int) -> int:
    """Return how many class shards one-vs-rest can be divided into."""
    bounds = class_shards(n_classes, SHARD), scored_shards(n_classes)
    return len(set.intersection(*({shard.start for shard in shards} for shards in bounds)))


def count_epochs(planned: Planned, step: Step) -> float:
    """Return the approximate number of epochs over all rows of a training step."""
    train = next(row for row in planned.rows if row.step == "train")
    return planned.job.epochs * step.seconds / max(train.seconds, 1e-9)
