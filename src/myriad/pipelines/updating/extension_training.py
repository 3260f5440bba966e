"""Training of an extended model: its rows, and the classes trained on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float, Ints
from myriad.errors import InputError
from myriad.models import (
    Calibration,
    CodedModel,
    HeldScores,
    LinearModel,
    Model,
    ModelFolder,
    load_held_scores,
)
from myriad.models.calibration.novelty import Novelty
from myriad.pipelines.outputs import store_beside
from myriad.pipelines.updating.known_rows import KnownRows, read_known
from myriad.progress import Progress
from myriad.store import ArrayRows, Store, is_store
from myriad.training import Context
from myriad.training.context import RunningContext
from myriad.training.discriminant.gaussian import DiscriminantSpace, find_space
from myriad.training.discriminant.method import MOST_FEATURES
from myriad.training.extension import train_beside
from myriad.training.extension_adjustment import balance
from myriad.training.extension_calibration import (
    add_points,
    calibrate_grown,
    find_margins,
    find_scale,
    join_held_scores,
)
from myriad.training.extension_problem import FixedScores
from myriad.training.pseudo_rows import draw_pseudo_rows
from myriad.training.updating import cross_fit, read_method


@dataclass(frozen=True, eq=False)
class ExtensionResult:
    """A model with new classes.

    Attributes
    ----------
    model : for plain rows.
    updated : numbers of old classes whose weights have changed.
    held_scores, calibration : None if too few rows could be held out.
    settings : the settings used, plain JSON.
    """

    model: Model
    updated: list[int]
    held_scores: HeldScores | None
    calibration: Calibration | None
    settings: dict[str, Any]


@dataclass(frozen=True, eq=False)
class ExtensionTask:
    """A model, new rows, and rows of its old classes.

    Attributes
    ----------
    learned : the old model without its code, for decoded rows.
    held : the held-out scores that the old model kept; None if there are none.
    from_store : whether the rows of old classes come from a store; if not, they are pseudo-rows.
    """

    folder: ModelFolder
    learned: Model
    held: HeldScores | None
    class_names: list[str]
    new: KnownRows
    old: KnownRows
    from_store: bool
    update: bool
    seed: int
    fingerprints: list[str]

    @classmethod
    def of(
        cls,
        folder: ModelFolder,
        path: Path,
        store: Store,
        stores: Sequence[Store],
        *,
        update: bool,
        seed: int,
        progress: Progress,
    ) -> ExtensionTask:
        """Return the task with all rows; raises `InputError` if they do not fit the model."""
        n_old = len(folder.class_names)
        names = [*folder.class_names, *sorted(find_present(store) - set(folder.class_names))]
        numbers = {name: c for c, name in enumerate(names)}
        new = read_known(folder, store, numbers, seed=seed, progress=progress)
        trained = set(new.labels.tolist())
        names = [name for c, name in enumerate(names) if c < n_old or c in trained]
        if len(names) < len(numbers):
            raise InputError(
                f"A new class of {store.path} has no rows to train on: all are in other splits."
            )
        n_seen = int((new.labels < n_old).sum())
        if n_seen and not update:
            progress.note(
                f"{n_seen} of the {len(new)} rows are of classes that the model has: they only "
                "serve as negatives of the new classes. Use --update to train the old classes too."
            )
        learned = folder.model.model if isinstance(folder.model, CodedModel) else folder.model
        own = {name: c for c, name in enumerate(folder.class_names)}
        parts = [read_known(folder, one, own, seed=seed, progress=progress) for one in stores]
        missing = np.setdiff1d(np.arange(n_old), [c for part in parts for c in part.labels])
        if stores and update and len(missing):
            raise InputError(
                f"The rows of --store lack classes of {path}: {len(missing):,}, "
                f"{folder.class_names[missing[0]]!r} first. To update all classes, give the stores "
                "of all its rows."
            )
        keeps_means = folder.calibration is not None and folder.calibration.novelty is not None
        if len(missing) and (keeps_means or not stores):
            parts.append(make_pseudo_rows(folder, path, missing, new, seed=seed))
            progress.note(
                f"{len(missing):,} old {'classes have' if len(missing) > 1 else 'class has'} no "
                "rows"
                f"{' in --store' if stores else ''}: class means are used instead, "
                f"with some loss of accuracy.{'' if stores else advise_store(path)}"
            )
        return cls(
            folder,
            learned,
            load_held_scores(path, n_old),
            names,
            new,
            KnownRows.join(parts),
            bool(stores),
            update,
            seed,
            [one.fingerprint for one in (store, *stores)],
        )

    @property
    def n_old(self) -> int:
        """The number of classes of the old model."""
        return len(self.folder.class_names)

    @property
    def added(self) -> list[str]:
        """The names of the new classes."""
        return self.class_names[self.n_old :]

    def describe_source(self) -> dict[str, Any]:
        """Return what identifies the extension, as the model keeps it."""
        how = {"rows": self.fingerprints, "update": self.update, "seed": self.seed}
        return {"extended_from": self.folder.trained_from, **how}

    def train(self, context: Context) -> ExtensionResult:
        """Train the new classes, and old ones with `update`."""
        if self.update and self.from_store:
            return self._train_again(context)
        return self._train_beside(context)

    def _train_beside(self, context: Context) -> ExtensionResult:
        """Train the new classes beside the old ones, which do not change.

        With `update`, old classes that have new rows are trained too, near their old weights.
        """
        n_old, n_classes = self.n_old, len(self.class_names)
        seen = np.unique(self.new.labels).tolist() if self.update else []
        updated = [c for c in seen if c < n_old]
        trained = [*updated, *range(n_old, n_classes)]
        kept = np.setdiff1d(np.arange(n_old), updated)
        if len(kept) == 0:
            raise InputError(
                "All classes of the model have new rows and are to be updated, so nothing of it "
                "would remain: use train, or give the old rows with --store."
            )
        fixed_model = self.learned.relabelled(index_classes(kept, n_old))
        rows = KnownRows.join([self.old, self.new])
        scale = find_scale(self.folder.calibration, self.learned, self.old.X, self.old.labels)
        with context.open() as running:
            fixed_labels = index_classes(kept, n_classes)[rows.labels]
            fixed = FixedScores.of(fixed_model, rows.X, fixed_labels, scale, running.pool)
            if self.held is not None:
                fixed = fixed.like_held_out(find_margins(self.held, scale))
            space = self._find_space(rows, running) if not updated else None
            # Pseudo-rows do not show how new scores compare with old ones on real rows.
            adjusted = self.from_store and self.held is not None and not updated
            with running.progress.step("Training new classes", None, "folds") as advance:
                found = train_beside(
                    rows.X if space is None else space.transform(rows.X),
                    index_classes(trained, n_classes)[rows.labels],
                    len(trained),
                    fixed,
                    scale,
                    anchor=self._anchor(updated, len(trained)),
                    weights=balance(rows.labels) if adjusted else None,
                    groups=rows.groups if (rows.groups >= 0).any() else None,
                    seed=self.seed,
                    pool=running.pool,
                    advance=advance,
                )
        settings = {"extended_by": "softmax beside fixed classes", "extension_lam": found.lam}
        if updated:
            # Kept classes come first, then the trained ones; `order` restores the class numbers.
            model = self.folder.model.relabelled(index_classes(kept, n_old)).with_classes(
                found.model
            )
            order = np.concatenate([kept, trained]).astype(np.int32)
            context.progress.note(
                "No held-out scores of the updated classes are known, so the model shows scores "
                "instead of probabilities. With --store it is calibrated."
            )
            return ExtensionResult(model.relabelled(order), updated, None, None, settings)
        labels, held = rows.labels[found.held], None
        if self.held is not None:
            held = self._join_held(labels, rows.X[found.held[labels >= n_old]], found.held_scores)
        return ExtensionResult(
            self.folder.model.with_classes(
                found.model if space is None else space.expand(found.model)
            ),
            [],
            held,
            calibrate_grown(held, "extended", self._extend_novelty()),
            settings | {"extension_factor": found.factor, "extension_offset": found.offset},
        )

    def _find_space(self, rows: KnownRows, running: RunningContext) -> DiscriminantSpace | None:
        """Return the space of discriminant analysis, if the old classes were trained in it."""
        settings = self.folder.settings
        lam = settings.get("lam" if settings.get("objective") == "plda" else "plda")
        many = min(rows.X.shape) > MOST_FEATURES
        if lam is None or many or not self.from_store:
            return None
        source = ArrayRows(rows.X, rows.labels, self.class_names)
        return find_space(source, len(self.class_names), lam, running)

    def _join_held(self, labels: Ints, X: Float, scores: Float) -> HeldScores:
        """Return held-out scores of all classes, given those of the new ones.

        Parameters
        ----------
        labels : the classes of the rows that were held out.
        X : the rows of new classes among them, (n, n_features).
        scores : float32 array of shape (n_held, n_new).
        """
        assert self.held is not None
        own = HeldScores.of(self.learned.scores(X), np.zeros(len(X), np.int32))
        new = labels[labels >= self.n_old]
        true = scores[np.flatnonzero(labels >= self.n_old), new - self.n_old]
        own = replace(own, labels=new, true=true)
        return join_held_scores(self.held, labels, own, scores, self.n_old, self.seed)

    def _anchor(self, updated: list[int], n_trained: int) -> LinearModel | None:
        """Return the weights that the trained ones are regularised towards; None for zero."""
        if not updated:
            return None
        W = np.zeros((n_trained, self.learned.dim), np.float32)
        b = np.zeros(n_trained, np.float32)
        for position, c in enumerate(updated):
            W[position], b[position] = self.learned.class_weights(c)
        return LinearModel(W, b)

    def _train_again(self, context: Context) -> ExtensionResult:
        """Train all classes on all rows, with the settings of the old model."""
        rows = KnownRows.join([self.old, self.new])
        names = self.class_names
        groups = rows.groups if (rows.groups >= 0).any() else None
        source = ArrayRows(rows.X, rows.labels, names, groups=groups)
        method = read_method(self.folder.settings, source, len(self.old), seed=self.seed)
        fitted, held = cross_fit(method, source, context)
        model = fitted.model
        if isinstance(self.folder.model, CodedModel):
            model = replace(self.folder.model, model=model)
        return ExtensionResult(
            model,
            list(range(self.n_old)),
            held,
            calibrate_grown(held, "cross-fitted", self._extend_novelty()),
            {**fitted.settings, "extended_by": "training of all classes"},
        )

    def _extend_novelty(self) -> Novelty | None:
        """Return the novelty score with the means of the new classes."""
        novelty = find_novelty(self.folder)
        if novelty is None:
            return None
        return add_points(novelty, self.new.X, self.new.labels - self.n_old, len(self.added))


def find_present(store: Store) -> set[str]:
    """Return the names of the classes that rows of a store have."""
    return {store.class_names[c] for c in np.unique(store.labels[store.labels >= 0])}


def find_novelty(folder: ModelFolder) -> Novelty | None:
    """Return the novelty score of a model, None if it has none."""
    return None if folder.calibration is None else folder.calibration.novelty


def require_novelty(folder: ModelFolder, path: Path) -> Novelty:
    """Return the novelty score of a model, which has its class means; `InputError` if it lacks."""
    novelty = find_novelty(folder)
    if novelty is None:
        raise InputError(
            f"{path} stores no class means, as it is not calibrated: give the store that it was "
            "trained on with --store."
        )
    return novelty


def index_classes(classes: Sequence[int] | NDArray[Any], n_classes: int) -> Ints:
    """Return the position of each class in `classes`, int32 (n_classes,); -1 for the others."""
    found = np.full(n_classes, -1, np.int32)
    found[np.asarray(classes, np.int64)] = np.arange(len(classes))
    return found


def make_pseudo_rows(
    folder: ModelFolder, path: Path, classes: NDArray[np.int64], new: KnownRows, *, seed: int
) -> KnownRows:
    """Return pseudo-rows of some old classes; see `draw_pseudo_rows`."""
    novelty = require_novelty(folder, path)
    X, labels = draw_pseudo_rows(novelty, new.X, new.labels, seed=seed)
    chosen = np.flatnonzero(np.isin(labels, classes))
    groups = np.full(len(chosen), -1, np.int32)
    return KnownRows(X[chosen], labels[chosen], groups, [""] * len(chosen))


def advise_store(model: Path) -> str:
    """Return a sentence on how to give the rows of the old classes."""
    beside = store_beside(model)
    if is_store(beside):
        return f" To use their rows in {beside}, add --store {beside}."
    return " Give them by --store if you have them."
