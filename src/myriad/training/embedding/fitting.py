"""Training embeddings from a setting to the best epoch, kept in a checkpoint on the way."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from myriad.errors import InputError
from myriad.measures import LabelSets, Measures, Truths, measure
from myriad.models.embedding import EmbeddingModel
from myriad.parallel import ThreadPool
from myriad.progress import Advance, Progress
from myriad.store import Rows
from myriad.training.checkpoints import Checkpoint
from myriad.training.distributed.rounds import EmbeddingRounds
from myriad.training.distributed.workers import TrainingWorkers
from myriad.training.embedding.trainer import Embedding, EmbeddingOptions
from myriad.training.sgd.fitting import default_patience, mean_square
from myriad.training.stopping import Stopping

if TYPE_CHECKING:
    from myriad.training.embedding.method import WsabieMethod

Pair = tuple[float, float]


@dataclass(frozen=True)
class Task:
    """What is trained: a method and the shape of its embeddings."""

    method: WsabieMethod
    train: Rows
    n_classes: int
    n_features: int
    dim: int
    square: float
    progress: Progress
    workers: TrainingWorkers | None = None

    @classmethod
    def of(
        cls,
        method: WsabieMethod,
        rows: Rows,
        n_classes: int,
        dim: int,
        progress: Progress,
        workers: TrainingWorkers | None = None,
    ) -> Self:
        """Take the shape from the rows; say which of them cannot be learned from."""
        sizes = LabelSets.from_labels(rows.labels).sizes if rows.sets is None else rows.sets.sizes
        idle = int(np.count_nonzero((sizes == 0) | (sizes == n_classes)))
        if idle == rows.n_rows:
            raise InputError(
                "Every row has no label or all labels: an embedding has nothing to learn from them."
            )
        if idle:
            progress.note(f"Rows with no label or with all labels, which are passed over: {idle}.")
        return cls(method, rows, n_classes, rows.dim, dim, mean_square(rows), progress, workers)

    def make(self, setting: Pair, member: int = 0) -> Embedding:
        """Return an embedding at its beginning."""
        shape = self.n_classes, self.n_features, self.dim
        options: dict[str, Any] = {
            "square": self.square,
            "eta": setting[0],
            "margin": setting[1],
            "options": self.method.options,
            "seed": self.seed(member),
        }
        if self.workers is None or not self.workers.executor.remote:
            return Embedding(*shape, **options)
        return EmbeddingRounds(*shape, workers=self.workers, rounds=self.method.rounds, **options)

    def run_epoch(
        self, trainer: Embedding, rows: Rows, member: int = 0, *, pool: ThreadPool, advance: Advance
    ) -> None:
        """Pass once over the rows: a class that was passed over before gets another chance."""
        if self.method.options.forget:
            trainer.forget()
        trainer.run_epoch(rows, seed=self.seed(member), pool=pool, advance=advance)

    def seed(self, member: int) -> int:
        """Return the seed of a member of an ensemble."""
        return (self.method.seed + 1_000_003 * member) % 2**63


def model_of(trainer: Embedding, options: EmbeddingOptions) -> EmbeddingModel:
    """Return what has been learned so far; arrays are shared."""
    return EmbeddingModel(trainer.V, trainer.P, options.discriminant)


def validate(model: EmbeddingModel, rows: Rows, *, pool: ThreadPool) -> Measures:
    """Return the measures of a model on held-out rows, scored against all classes."""
    ranks = np.empty(rows.n_rows, np.int32)

    def judge(some: range) -> None:
        index = np.arange(some.start, some.stop)
        truths = rows.labels[index] if rows.sets is None else rows.sets.select(index)
        ranks[index] = model.judge(rows.read(index), truths)[0]

    size = max(1, min(512, (8 << 20) // (4 * max(rows.dim, model.n_classes))))
    starts = range(0, rows.n_rows, size)
    pool.share(judge, [range(start, min(start + size, rows.n_rows)) for start in starts])
    truths: Truths = rows.labels if rows.sets is None else rows.sets
    return measure(ranks, truths, n_classes=model.n_classes)


class Run:
    """The training of all members of an ensemble, kept in a checkpoint on the way.

    Attributes
    ----------
    setting : step and margin, None before they are known.
    table : the settings tried.
    history : a row for each epoch of the first member.
    epochs : after so many epochs the first member was best.
    """

    def __init__(self, task: Task, checkpoint: Checkpoint | None) -> None:
        self.task = task
        self._checkpoint = checkpoint
        kept = checkpoint.load() if checkpoint is not None else None
        state, self._arrays = kept or ({}, {})
        self.setting: Pair | None = tuple(state["setting"]) if state else None
        self.table: list[dict[str, Any]] = state.get("table", [])
        self.history: list[dict[str, Any]] = state.get("history", [])
        self.epochs: int = state.get("epochs", 0)
        self._member: int = state.get("member", 0)
        self._epoch: int = state.get("epoch", 0)
        self._stopping: dict[str, Any] | None = state.get("stopping")
        self._best: list[tuple[NDArray[Any], NDArray[Any]]] = [
            (self._arrays.pop(f"best.{m}.V"), self._arrays.pop(f"best.{m}.P"))
            for m in range(state.get("n_best", 0))
        ]

    def begin(self, setting: Pair, table: list[dict[str, Any]]) -> None:
        """Take the setting to train by."""
        self.setting, self.table = setting, table
        if self._checkpoint is not None:
            self._checkpoint.save(self._state(None, None), {})

    def models(self) -> list[EmbeddingModel]:
        """Return the members of the ensemble."""
        discriminant = self.task.method.options.discriminant
        return [EmbeddingModel(V, P, discriminant) for V, P in self._best]

    def train(self, rows: Rows, val: Rows | None, *, pool: ThreadPool) -> None:
        """Train all members that are not done yet."""
        method = self.task.method
        while self._member < method.ensemble:
            held = val if self._member == 0 else None
            epochs = method.epochs if self._member == 0 else self.epochs
            with self.task.progress.step(
                "Training", (epochs - self._epoch) * rows.n_rows, "rows"
            ) as advance:
                self._train_member(rows, held, epochs, pool, advance)
            self._member += 1
            self._epoch, self._stopping, self._arrays = 0, None, {}

    def _train_member(
        self, rows: Rows, val: Rows | None, epochs: int, pool: ThreadPool, advance: Advance
    ) -> None:
        """Train one member for all epochs, or until validation accuracy stops rising."""
        task = self.task
        assert self.setting is not None
        trainer = task.make(self.setting, self._member)
        patience = task.method.patience or default_patience(val.n_rows if val else 0)
        stopping = Stopping(task.method.theta, patience)
        if self._stopping is not None:
            for name, value in self._stopping.items():
                setattr(stopping, name, tuple(value) if isinstance(value, list) else value)
            trainer.restore(self._arrays)
            trainer.epoch = self._epoch
        began = time.perf_counter() - (self.history[-1]["seconds"] if self.history else 0.0)
        while trainer.epoch < epochs and not stopping.done:
            before = trainer.tally
            task.run_epoch(trainer, rows, self._member, pool=pool, advance=advance)
            if val is None:
                self._take(trainer, last=trainer.epoch == epochs)
            else:
                measures = validate(model_of(trainer, task.method.options), val, pool=pool)
                if stopping.watch(trainer.epoch, measures):
                    self._take(trainer)
                self._note(trainer, before, measures, rows.n_rows, time.perf_counter() - began)
            self._keep(trainer, stopping)
        if self._member == 0:
            self.epochs = epochs if val is None else stopping.best_epoch
        self._keep(trainer, stopping, last=True)

    def _take(self, trainer: Embedding, *, last: bool = True) -> None:
        """Keep the member as it is, if it is better than before or at its end."""
        if last:
            self._best[self._member :] = [(trainer.V.copy(), trainer.P.copy())]

    def _note(
        self,
        trainer: Embedding,
        before: dict[str, int],
        measures: Measures,
        n_rows: int,
        seconds: float,
    ) -> None:
        """Write an epoch into the history: accuracy, and what a row took on average."""
        spent = {
            name: round((count - before[name]) / n_rows, 3) for name, count in trainer.tally.items()
        }
        self.history.append(
            {
                "epoch": trainer.epoch,
                "top1": measures.at(1),
                "top5": measures.at(5),
                "seconds": round(seconds, 3),
                **spent,
            }
        )

    def _keep(self, trainer: Embedding, stopping: Stopping, *, last: bool = False) -> None:
        """Write the state down, if it is time to."""
        checkpoint = self._checkpoint
        if checkpoint is None or not (last or checkpoint.is_due):
            return
        arrays = trainer.state()
        for member, (V, P) in enumerate(self._best):
            arrays |= {f"best.{member}.V": V, f"best.{member}.P": P}
        checkpoint.save(self._state(trainer, stopping), arrays)

    def _state(self, trainer: Embedding | None, stopping: Stopping | None) -> dict[str, Any]:
        return {
            "setting": self.setting,
            "table": self.table,
            "history": self.history,
            "epochs": self.epochs,
            "member": self._member,
            "epoch": trainer.epoch if trainer else 0,
            "stopping": asdict(stopping) if stopping else None,
            "n_best": len(self._best),
        }
