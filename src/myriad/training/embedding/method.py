"""Wsabie and Wsabie++: a map and a prototype of each class, learned together [HM]."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from myriad.errors import InputError
from myriad.models.embedding import EmbeddingModel, add_index, concatenate
from myriad.parallel import open_threads
from myriad.progress import SILENT, Progress
from myriad.store import Rows
from myriad.training.checkpoints import Checkpoint
from myriad.training.distributed.workers import ROUNDS, TrainingWorkers, check_rounds
from myriad.training.embedding.fitting import Run, Task
from myriad.training.embedding.search import find_setting
from myriad.training.embedding.trainer import EmbeddingOptions
from myriad.training.method import (
    Fitted,
    Method,
    MethodSpec,
    number_or,
    one_of,
    whole_number,
    yes_or_no,
)

DIM = 128
"""The dimensions of the embedding unless stated, and not more than there are features."""
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
        """Whether workers can do pieces: they can."""
        return True

    @property
    def is_open(self) -> bool:
        """Whether step or margin is left to be searched."""
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
        threads: int | None = None,
        progress: Progress = SILENT,
        checkpoint: Checkpoint | None = None,
        workers: TrainingWorkers | None = None,
    ) -> Fitted:
        """Train on rows; see `Method.fit`.

        Further members of an ensemble are trained like the first, for as many epochs as it took.
        """
        task = Task.of(self, train, n_classes, self.dim_for(train.dim), progress, workers)
        with open_threads(threads) as pool:
            run = Run(task, checkpoint)
            if run.setting is None and val is not None and self.is_open:
                run.begin(*find_setting(task, val, pool=pool))
            elif run.setting is None:
                run.begin(self.stated(task.dim), [])
            run.train(train, val, pool=pool)
        model = concatenate(run.models())
        settings = self._describe(task, run)
        if self.index == "ivf":
            model, settings["recall"] = self._index(model, val or train, progress)
        return Fitted(model, settings, run.epochs, run.history, run.table)

    def stated(self, dim: int) -> tuple[float, float]:
        """Return step and margin, modest ones where none are stated."""
        fixed = self.options.adagrad is False
        eta = UNSEARCHED_FIXED_STEP if fixed else UNSEARCHED_STEP / math.sqrt(dim)
        return self.eta or eta, self.margin or UNSEARCHED_MARGIN

    def _describe(self, task: Task, run: Run) -> dict[str, Any]:
        assert run.setting is not None
        options = self.options
        return {
            "dim": task.dim,
            "eta": run.setting[0],
            "margin": run.setting[1],
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
        """Make ranking approximate, and tell how much it finds."""
        X = rows.read(np.arange(min(rows.n_rows, INDEX_ROWS)))
        indexed, recall = add_index(model, X, seed=self.seed)
        n_cells = 0 if indexed.centres is None else len(indexed.centres)
        progress.note(
            f"Ranking looks into {indexed.probes} of {n_cells} cells and finds "
            f"{100 * recall:.1f} % of the 5 best classes."
        )
        return indexed, round(recall, 4)

    def settled(self, fitted: Fitted) -> Self:
        """Return the method with nothing left to search or to stop early."""
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
