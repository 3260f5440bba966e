"""Wsabie and Wsabie++: a map and a prototype of each class, learned together [HM]."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from myriad.errors import InputError
from myriad.models.embedding import EmbeddingModel, add_index, concatenate
from myriad.progress import Progress
from myriad.store import Rows
from myriad.training.context import DEFAULT_CONTEXT, Context, RunningContext
from myriad.training.distributed.workers import ROUNDS, check_rounds
from myriad.training.embedding.fitting import Pair, Task
from myriad.training.embedding.search import find_setting
from myriad.training.embedding.trainer import EmbeddingOptions
from myriad.training.loop import run, start_clock
from myriad.training.method import (
    Fitted,
    Method,
    MethodSpec,
    number_or,
    one_of,
    whole_number,
    yes_or_no,
)
from myriad.training.stopping import AccuracyMonitor, EarlyStopping, default_patience
from myriad.training.training_state import TrainingState

DIM = 128
"""The dimensions of the embedding unless stated; never more than there are features."""
UNSEARCHED_STEP, UNSEARCHED_FIXED_STEP, UNSEARCHED_MARGIN = 0.3, 0.1, 0.03
INDEX_ROWS = 2000
"""Validation rows on which the recall of an index is measured."""


@dataclass(frozen=True, kw_only=True)
class WsabieMethod(Method):
    """An embedding by stochastic gradient descent; as it stands, Wsabie++.

    Steps and margins are counted in units of the data: the embedding of a row is about 1 long at
    the beginning.

    Attributes
    ----------
    dim : dimensions of the embedding; None for `DIM`, or the number of features if that is less.
    eta, margin : a number, or None to search for it.
    options : which form of the method it is.
    ensemble : embeddings that are trained one after the other and concatenated.
    epochs : the most passes over the rows.
    theta, patience : see `Stopping`; a patience of None depends on how many rows validate.
    index : ``exact`` ranking, or ``ivf``: approximate ranking by an inverted file, whose recall is
        measured on validation rows.
    memory : bytes that the embeddings trained together in a search may take.
    rounds : of a pass over shards of rows on workers, see `rounds`.
    """

    objective: str = "wsabie"
    dim: int | None = None
    eta: float | None = None
    margin: float | None = None
    options: EmbeddingOptions = field(default_factory=EmbeddingOptions)
    ensemble: int = 1
    epochs: int = 50
    theta: float = 0.0
    patience: int | None = None
    index: str = "exact"
    memory: int = field(default=2 << 30, repr=False)
    rounds: int = ROUNDS

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rounds(self.rounds)
        for name in ("eta", "margin"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InputError(
                    f"{name} must be a positive number, not {value!r}"
                    + (": without a margin nothing is learned." if name == "margin" else ".")
                )
        for name in ("dim", "ensemble", "epochs", "patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value!r}.")
        if self.index not in ("exact", "ivf"):
            raise InputError(f"index must be exact or ivf, not {self.index!r}.")

    @property
    def spreads(self) -> bool:
        """Whether workers can train shards of rows: they can."""
        return True

    @property
    def is_open(self) -> bool:
        """Whether learning rate or margin is left to be searched for."""
        return self.eta is None or self.margin is None

    def dim_for(self, n_features: int) -> int:
        """Return the dimensions of the embedding of rows with so many features."""
        dim = min(DIM, n_features) if self.dim is None else self.dim
        if dim > n_features:
            raise InputError(
                f"dim is {dim}, but the rows have {n_features} features: an embedding has at most "
                "as many dimensions."
            )
        return dim

    def fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        context: Context = DEFAULT_CONTEXT,
    ) -> Fitted:
        """Train on rows; see `Method.fit`.

        Further members of an ensemble are trained like the first, for as many epochs as it took.
        """
        task = Task.of(self, train, n_classes, context.progress, context.workers)
        with context.open() as running:
            state = TrainingState(running.checkpoint)
            if not state.facts:
                setting: Pair = self.stated(task.dim)
                table: list[dict[str, Any]] = []
                if val is not None and self.is_open:
                    setting, table = find_setting(task, val, running=running)
                state.facts = {"setting": setting, "table": table, "member": 0, "history": []}
                state.save()
            while state.facts["member"] < self.ensemble:
                self._train_member(task, val, state, running)
        facts, form = state.facts, self.options.discriminant
        weights = [[state.arrays[f"{m}.{name}"] for name in "VP"] for m in range(self.ensemble)]
        model = concatenate([EmbeddingModel(V, P, form) for V, P in weights])
        settings = self._describe(task, facts["setting"])
        if self.index == "ivf":
            model, settings["recall"] = self._index(model, val or train, context.progress)
        return Fitted(model, settings, facts["epochs"], facts["history"], facts["table"])

    def _train_member(
        self, task: Task, val: Rows | None, state: TrainingState, running: RunningContext
    ) -> None:
        """Train the next member of the ensemble; only the first one is validated."""
        member, rows = state.facts["member"], task.train
        held = val if member == 0 else None
        epochs = self.epochs if member == 0 else state.facts["epochs"]
        eta, margin = state.facts["setting"]
        trainer = task.make((eta, margin), member)
        patience = self.patience or default_patience(held.n_rows if held else 0)
        monitor = AccuracyMonitor([EarlyStopping(self.theta, patience)], held)
        state.resume(trainer, monitor, pool=running.pool)
        clock = start_clock(state.seconds)
        with running.progress.step("Training", epochs * rows.n_rows, "rows") as advance:
            advance(trainer.epoch * rows.n_rows)
            run(
                trainer,
                rows,
                monitor,
                until=epochs,
                seed=task.seed(member),
                pool=running.pool,
                clock=clock,
                advance=advance,
                state=state,
            )
        (V, P), reached = monitor.take_final(trainer)
        state.arrays |= {f"{member}.V": V, f"{member}.P": P}
        if member == 0:
            state.facts |= {"epochs": reached, "history": monitor.history}
        state.facts["member"] = member + 1
        state.save()

    def with_memory(self, size: int) -> Self:
        """Return the method with a limit for the embeddings that are trained side by side."""
        return replace(self, memory=size)

    def without_early_stopping(self, epochs: int) -> Self:
        """Return the method that trains for all of so many epochs."""
        return replace(self, patience=epochs)

    def stated(self, dim: int) -> tuple[float, float]:
        """Return learning rate and margin, modest ones where none are stated."""
        fixed = self.options.adagrad is False
        eta = UNSEARCHED_FIXED_STEP if fixed else UNSEARCHED_STEP / math.sqrt(dim)
        return self.eta or eta, self.margin or UNSEARCHED_MARGIN

    def _describe(self, task: Task, setting: Pair) -> dict[str, Any]:
        options = self.options
        return {
            "dim": task.dim,
            "eta": setting[0],
            "margin": setting[1],
            "discriminant": options.discriminant,
            "sampling": options.sampling,
            "rank_weight": options.rank_weight,
            "last_violators": options.last_violators,
            "adagrad": options.adagrad,
            "ensemble": self.ensemble,
        }

    def _index(
        self, model: EmbeddingModel, rows: Rows, progress: Progress
    ) -> tuple[EmbeddingModel, float]:
        """Return the model with approximate ranking, and its recall."""
        X = rows.read(np.arange(min(rows.n_rows, INDEX_ROWS)))
        indexed, recall = add_index(model, X, seed=self.seed)
        n_cells = 0 if indexed.centres is None else len(indexed.centres)
        progress.note(
            f"Ranking looks into {indexed.probes} of {n_cells} cells and finds "
            f"{100 * recall:.1f} % of the 5 best classes."
        )
        return indexed, round(recall, 4)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with nothing left to search for or to stop early."""
        found = fitted.settings
        return replace(
            self, dim=found["dim"], eta=found["eta"], margin=found["margin"], epochs=fitted.epochs
        )


_OPTIONS = (
    "discriminant", "sampling", "rank_weight", "last_violators", "forget", "adagrad", "max_norm",
)  # fmt: skip


def make_wsabie(**given: Any) -> WsabieMethod:
    """Make the method from its own options and those of its form, in one list."""
    form = {name: given.pop(name) for name in _OPTIONS if name in given}
    return WsabieMethod(options=EmbeddingOptions(**form), **given)


WSABIE_METHODS = {
    "wsabie": MethodSpec(
        make_wsabie,
        {
            "dim": whole_number,
            "eta": number_or(auto=None),
            "margin": number_or(auto=None),
            "discriminant": one_of({"euclidean": "euclidean", "linear": "linear"}),
            "sampling": one_of({"warp": "warp", "auc": "auc"}),
            "rank_weight": yes_or_no,
            "last_violators": whole_number,
            "adagrad": one_of({"yes": True, "no": False, "count": "count"}),
            "max_norm": number_or(none=None),
            "ensemble": whole_number,
            "rounds": whole_number,
            "index": one_of({"exact": "exact", "ivf": "ivf"}),
            "epochs": whole_number,
        },
    )
}
