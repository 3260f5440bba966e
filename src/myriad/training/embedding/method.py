"""Wsabie and Wsabie++: a map and a prototype of each class, learned together [HM]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from myriad.errors import InputError
from myriad.objectives import DISCRIMINANTS
from myriad.options import check_options, option, option_group
from myriad.training.context import Context, RunningContext
from myriad.training.method import (
    SCALING_PANEL,
    CentringMethod,
    Fitted,
    GradientMethod,
    rounds_option,
)

if TYPE_CHECKING:
    from myriad.models.embedding import EmbeddingModel
    from myriad.progress import Progress
    from myriad.store import Rows
    from myriad.training.checkpoints import TrainingState
    from myriad.training.embedding.fitting import Pair, Task
    from myriad.training.embedding.second_stage import ClassConfusion

DIM = 128
"""The dimensions of the embedding unless stated; never more than there are features."""
UNSEARCHED_ETA, UNSEARCHED_FIXED_ETA, UNSEARCHED_MARGIN = 0.3, 0.1, 0.03
INDEX_ROWS = 2000
"""Validation rows on which the recall of an index is measured."""
PANEL = "Embedding: wsabie"


@dataclass(frozen=True, kw_only=True)
class EmbeddingOptions:
    """How an embedding is trained; the defaults are Wsabie++ [HM, Table 3].

    Attributes
    ----------
    rank_weight : weigh a step by the harmonic number of the estimated rank of the truth.
    last_violators : how long a chain of last violators makes a row be skipped; 0 for none.
    forget : whether last violators are forgotten at the start of each epoch of `fit`. If not, as in
        [HM], a class whose last violator violates the margin of all its rows is never trained on
        them again, which is likely where a class has few rows.
    adagrad : learning rates shrink with the sum of squared gradients (True), with the number of
        steps (``"count"``), or not at all (False).
    replacement : draw wrong classes with replacement, which may miss a violator.
    max_draws : maximum number of draws; None for as many as there are classes. It is the number of
        negatives for each positive of [HM, 10], whose best choice was as many as there are classes.
    max_norm : bound on the norms of prototypes and of the rows of the map; None for none.
    init : what training begins at: a map of random signs and prototypes of zero [HM, Table 3], or
        both uniform within the bound of norms, as Wsabie proper does [HM, 8.3].
    """

    discriminant: str = option(
        "euclidean",
        choices={name: entry.description for name, entry in DISCRIMINANTS.items()},
        panel=PANEL,
        help="Discriminant function.",
    )
    sampling: str = option(
        "warp",
        choices={"warp": "draws until one violates the margin", "auc": "one draw"},
        panel=PANEL,
        help="Sampling of wrong classes.",
    )
    rank_weight: bool = option(
        False, panel=PANEL, help="Weight steps by the estimated rank of the correct class."
    )
    last_violators: int = option(
        0,
        minimum=0,
        panel=PANEL,
        help="Skip a row after a chain of this many last violators; 0 to skip none.",
    )
    forget: bool = option(
        True, command=False, help="Clear last violators at the start of each epoch."
    )
    adagrad: bool | str = option(
        True,
        words={"yes": True, "no": False, "count": "count"},
        panel=PANEL,
        help="AdaGrad: learning rates scaled by accumulated gradients.",
    )
    replacement: bool = option(False, command=False, help="Draw wrong classes with replacement.")
    max_draws: int | None = option(
        None,
        minimum=1,
        panel=PANEL,
        default_text="classes",
        help="Maximum number of wrong classes to draw for a row.",
    )
    max_norm: float | None = option(
        None,
        above=0,
        maximum=1e9,
        words={"none": None},
        panel=PANEL,
        help="Upper bound on the norm of weight vectors, or none.",
    )
    init: str = option(
        "signs",
        choices={"signs": "a map of random signs", "ball": "uniform within --max-norm"},
        panel=PANEL,
        help="Initial weights.",
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.init == "ball" and self.max_norm is None:
            raise InputError("init ball needs a max_norm, the radius of the ball.")
        if self.rank_weight and self.sampling == "auc":
            raise InputError("rank_weight needs the sampling warp, whose draws estimate the rank.")


@dataclass(frozen=True, kw_only=True)
class WsabieMethod(GradientMethod, CentringMethod):
    """An embedding by stochastic gradient descent; the defaults are Wsabie++.

    Learning rates and margins are in units of the data: the embedding of a row is about 1 long at
    the start. Options are described on their fields; those left at None are searched for.

    Attributes
    ----------
    dim : dimensions of the embedding; None for `DIM`, or the number of features if that is less.
    options : which form of the method it is.
    index : ``exact`` ranking, or ``ivf``: approximate ranking by an inverted file, whose recall is
        measured on validation rows.
    second_stage, deleted : a second training, for which the first has shown the confusions; see
        `second_stage`. Learning rate and margin are those of the first.
    """

    titles: ClassVar[Mapping[str, str]] = {"wsabie": "embedding"}

    objective: str = "wsabie"
    dim: int | None = option(
        None,
        minimum=1,
        words={"auto": None},
        panel=PANEL,
        default_text=f"{DIM}",
        help="Dimension of the embedding, at most the number of features.",
    )
    margin: float | None = option(
        None,
        above=0,
        words={"auto": None},
        panel=PANEL,
        hint="Without a margin nothing is learned.",
        help="Margin of the ranking loss, or auto to search for it.",
    )
    center: bool = option(
        False, panel=SCALING_PANEL, help="Subtract the mean of the rows for training."
    )
    options: EmbeddingOptions = option_group(EmbeddingOptions)
    ensemble: int = option(
        1, minimum=1, panel=PANEL, help="Number of embeddings to train and concatenate."
    )
    runs: int = option(
        1,
        minimum=1,
        panel=PANEL,
        help="Number of embeddings to train with different seeds; the best is kept.",
    )
    second_stage: str = option(
        "none",
        choices={
            "none": "",
            "confusion": "common confusions count less",
            "delete": "without the classes recognised worst",
        },
        panel=PANEL,
        help="Second training stage, based on the confusions of the first.",
    )
    deleted: float = option(
        0.1,
        above=0,
        below=1,
        needs=("second_stage", "delete"),
        panel=PANEL,
        help="Fraction of the classes that --second-stage delete removes.",
    )
    index: str = option(
        "exact",
        choices={"exact": "", "ivf": "approximate, for very many classes"},
        panel=PANEL,
        help="How the model ranks classes.",
    )
    rounds: int = rounds_option(panel=PANEL)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.center and self.options.discriminant != "euclidean":
            raise InputError("center needs the Euclidean discriminant.")
        if self.runs > 1 and self.ensemble > 1:
            raise InputError("Of runs and ensemble only one can be above 1.")
        if self.runs > 1 and self.second_stage != "none":
            raise InputError("runs and second_stage cannot be combined.")

    @property
    def supports_workers(self) -> bool:
        """Whether workers can train shards of rows."""
        return True

    @property
    def is_open(self) -> bool:
        """Whether learning rate or margin is searched for, or the best of several runs."""
        return self.eta is None or self.margin is None or self.runs > 1

    def dim_for(self, n_features: int) -> int:
        """Return the dimension of the embedding of rows with this number of features."""
        dim = min(DIM, n_features) if self.dim is None else self.dim
        if dim > n_features:
            raise InputError(
                f"dim is {dim}, but the rows have {n_features} features: an embedding has at most "
                "as many dimensions."
            )
        return dim

    def _fit(
        self,
        train: Rows,
        val: Rows | None,
        *,
        n_classes: int,
        context: Context,
        confusion: ClassConfusion | None = None,
    ) -> Fitted:
        """Train on rows as they are; with a second stage, twice.

        Further members of an ensemble are trained like the first, for as many epochs as it took. Of
        several runs, the one of the best validation accuracy is kept [HM, 8].
        """
        from myriad.models.embedding import EmbeddingModel, concatenate
        from myriad.training.checkpoints import TrainingState
        from myriad.training.embedding.fitting import Task
        from myriad.training.embedding.search import find_setting

        if self.second_stage != "none" and confusion is None:
            from myriad.training.embedding.second_stage import fit_twice

            return fit_twice(self, train, val, n_classes=n_classes, context=context)
        task = Task.of(self, train, n_classes, context.progress, context.workers)
        task = replace(task, confusion=confusion)
        with context.open() as running:
            state = TrainingState(running.checkpoint)
            if not state.facts:
                setting: Pair = self.default_setting(task.dim)
                table: list[dict[str, Any]] = []
                if val is not None and (self.eta is None or self.margin is None):
                    setting, table = find_setting(task, val, running=running)
                state.facts = {"setting": setting, "table": table, "member": 0, "history": []}
                state.save()
            n_runs = 1 if val is None else self.runs
            while state.facts["member"] < max(self.ensemble, n_runs):
                self._train_member(task, val, state, running)
        facts, form = state.facts, self.options.discriminant
        weights = [[state.arrays[f"{m}.{name}"] for name in "VP"] for m in range(self.ensemble)]
        model = concatenate([EmbeddingModel(V, P, form) for V, P in weights])
        settings = self._describe(task, facts["setting"])
        if n_runs > 1:
            settings |= {"runs": n_runs, "run": facts["run"]}
        if self.index == "ivf":
            model, settings["recall"] = self._index(model, val or train, context.progress)
        return Fitted(model, settings, facts["epochs"], facts["history"], facts["table"])

    def _train_member(
        self, task: Task, val: Rows | None, state: TrainingState, running: RunningContext
    ) -> None:
        """Train the next member of the ensemble, or the next run.

        Of an ensemble only the first member is validated, of several runs each one.
        """
        from myriad.training.loop import run, start_clock
        from myriad.training.stopping import AccuracyMonitor, EarlyStopping, default_patience

        member, rows = state.facts["member"], task.train
        validated = member == 0 or self.runs > 1
        held_out = val if validated else None
        epochs = self.epochs if validated else state.facts["epochs"]
        eta, margin = state.facts["setting"]
        trainer = task.make((eta, margin), member)
        patience = self.patience or default_patience(held_out.n_rows if held_out else 0)
        monitor = AccuracyMonitor([EarlyStopping(self.theta, patience)], held_out)
        state.resume(trainer, monitor, pool=running.pool)
        clock = start_clock(state.seconds)
        run(
            trainer,
            rows,
            monitor,
            until=epochs,
            seed=task.seed(member),
            pool=running.pool,
            clock=clock,
            progress=running.progress,
            state=state,
        )
        (V, P), reached = monitor.final_weights(trainer)
        best = monitor.rules[0].best
        if member == 0 or (validated and list(best) > state.facts["best"]):
            state.facts |= {"epochs": reached, "history": monitor.history}
            state.facts |= {"best": list(best), "run": member}
            state.arrays |= {"0.V": V, "0.P": P}
        elif not validated:
            state.arrays |= {f"{member}.V": V, f"{member}.P": P}
        state.facts["member"] = member + 1
        state.save()

    def default_setting(self, dim: int) -> tuple[float, float]:
        """Return learning rate and margin, with default values for those that are None."""
        fixed = self.options.adagrad is False
        eta = UNSEARCHED_FIXED_ETA if fixed else UNSEARCHED_ETA / math.sqrt(dim)
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
        import numpy as np

        from myriad.models.embedding import add_index

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
        settings = fitted.settings
        return replace(
            self,
            dim=settings["dim"],
            eta=settings["eta"],
            margin=settings["margin"],
            epochs=fitted.epochs,
            runs=1,
            seed=member_seed(self.seed, settings.get("run", 0)),
        )


def member_seed(seed: int, member: int) -> int:
    """Return the seed of a member of an ensemble, or of a run."""
    return (seed + 1_000_003 * member) % 2**63
