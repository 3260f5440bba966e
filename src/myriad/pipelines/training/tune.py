"""How accuracy depends on the settings of an objective: its search, a grid, and regularisation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from myriad.errors import InputError, WorkError
from myriad.measures import measure
from myriad.models import ModelFolder
from myriad.pipelines.describing.extract import ExtractOptions, open_source
from myriad.pipelines.outputs import locks_output
from myriad.pipelines.predicting.scoring import Evaluator
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.training.fitting import check_rows
from myriad.pipelines.training.trial_log import TrialLog, check_trial_log
from myriad.pipelines.training.trials import SWEPT, Trial, Tuned
from myriad.pipelines.workers import connected, note_unused, open_context
from myriad.store import Store
from myriad.training import METHODS, Context, Method, make_method

LEDGER, PAGE = "tuning.json", "tuning.html"
EPOCHS = 20
DECAYS = (1e-6, 1e-5, 1e-4, 1e-3)
"""The values of `lam` tried, as the fraction ``eta lam`` by which a step shrinks the weights."""
FACTORS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""The values of `lam` tried for methods without a learning rate, as multiples of the one found."""
Words = dict[str, Any]


@locks_output(with_store=True)
def tune(
    data: Path,
    out: Path,
    *,
    objective: str = "ovr",
    betas: Sequence[str] | None = None,
    etas: Sequence[str] | None = None,
    lams: Sequence[str] | None = None,
    epochs: int = EPOCHS,
    store: Path | None = None,
    extracting: ExtractOptions | None = None,
    run: Run = DEFAULT_RUN,
) -> Tuned:
    """Train an objective with many settings and measure each on validation rows.

    First the settings are searched for as ``train`` does. Then every `beta` is trained with every
    `eta` until it stops by itself [GP, Figure 1]; values not stated are those of the search. Then,
    with the best of these, three kinds of regularisation are trained for all `epochs` [GP,
    Figure 2]: none, with a fixed learning rate; `lam`, with a fixed and with a decaying one.
    """
    began = time.perf_counter()
    stated = {"beta": betas, "eta": etas, "lam": lams}
    check_stated(objective, stated, epochs=epochs, seed=run.seed)
    check_trial_log(out, LEDGER, overwrite=run.overwrite, resume=run.resume)
    with connected(run) as run, open_context(run, out / "pieces") as context:
        rows = open_source(data, out, store=store, extracting=extracting, run=run)
        check_rows(rows.rows("train"), rows, run.progress)
        if "val" not in rows.split_names:
            raise InputError(
                f"{rows.path} has no validation rows, which are needed to compare settings."
            )
        key = {"store": rows.fingerprint, "seed": run.seed, "objective": objective}
        trial_log = TrialLog(out / LEDGER, key, resume=run.resume)
        study = _Study(rows, objective, epochs, run.seed, trial_log, context)
        study.search()
        study.train_grid(stated)
        study.train_regularised(stated["lam"])
    trials = study.trials
    if all(trial.error is not None for trial in trials):
        raise WorkError(f"No setting could be trained. {trials[0].error}")
    return Tuned(rows, objective, run.seed, trials, time.perf_counter() - began)


def check_stated(
    objective: str, stated: dict[str, Sequence[str] | None], *, epochs: int, seed: int
) -> None:
    """Raise `InputError` if the objective has nothing to tune, or not with these values."""
    make_method(METHODS, objective, seed=seed)
    known = METHODS[objective].command_options(objective)
    if not set(SWEPT) & set(known):
        raise InputError(f"--objective {objective} has no settings to tune.")
    if epochs < 1:
        raise InputError(f"--epochs must be at least 1, not {epochs}.")
    for name, values in stated.items():
        if values is not None and name not in known:
            raise InputError(f"--{name}s does not belong to --objective {objective}.")
        if values is not None and not values:
            raise InputError(f"--{name}s has no value: give some, separated by commas.")
        for value in values or ():
            if known[name].parse(value, name=f"--{name}s") is None:
                raise InputError(f"--{name}s takes values to try, not {value!r}.")
            make_method(METHODS, objective, seed=seed, **{name: value})


class _Study:
    """A study: its trials so far, and the rows and options of further ones."""

    def __init__(
        self,
        rows: Store,
        objective: str,
        epochs: int,
        seed: int,
        trial_log: TrialLog,
        context: Context,
    ) -> None:
        self.rows, self.objective, self.epochs, self.seed = rows, objective, epochs, seed
        self.trial_log, self.context = trial_log, context
        self.options = METHODS[objective].command_options(objective)
        self.trials: list[Trial] = []

    def search(self) -> None:
        """Run the search of the method itself, as the first trial."""
        self.try_one("auto", {})

    def train_grid(self, stated: dict[str, Sequence[str] | None]) -> None:
        """Train every `beta` with every `eta`."""
        names = [name for name in ("beta", "eta") if name in self.options]
        values = [stated[name] or self._values(name) for name in names]
        if not names or not all(values):
            return
        kept = self._fixed_settings() | ({"lam": 0.0} if "lam" in self.options else {})
        for words in product(*values):
            self.try_one("grid", kept | dict(zip(names, words, strict=True)))

    def train_regularised(self, stated: Sequence[str] | None) -> None:
        """Train with each kind of regularisation for all epochs, with the best settings so far."""
        if "lam" not in self.options or self.best is None:
            return
        swept = {name: self.best.settings.get(name) for name in ("beta", "eta")}
        best = self._fixed_settings() | {
            name: word for name, word in swept.items() if word is not None
        }
        lams: list[Any] = list(stated or self._lams(best.get("eta")))
        if "eta" in best:
            self.try_one("none", best | {"lam": 0.0}, all_epochs=True)
        for lam in lams:
            self.try_one("lam", best | {"lam": lam}, all_epochs=True)
        for lam in lams if "schedule" in self.options else ():
            if float(lam) > 0:
                self.try_one("lam, step shrinking", best | {"lam": lam, "schedule": "lam"}, True)

    @property
    def best(self) -> Trial | None:
        """The best trial so far."""
        done = [trial for trial in self.trials if trial.error is None]
        return max(done, key=lambda trial: trial.score, default=None)

    def try_one(self, study: str, words: Words, all_epochs: bool = False) -> None:
        """Train one setting and log it; a failure is logged with its reason."""
        limit = {"epochs": self.epochs} if "epochs" in self.options else {}
        settings = (
            ", ".join(f"{name} {word}" for name, word in words.items()) or "settings searched"
        )
        try:
            method = make_method(METHODS, self.objective, seed=self.seed, **words, **limit)
            method = method.without_early_stopping(self.epochs) if all_epochs else method
            name = f"{study} {method!r}"
            kept = self.trial_log.find(name)
            if kept is not None:
                self.trials.append(Trial.from_record(study, kept))
                return
            self.context.progress.note(f"Trial {len(self.trials) + 1}: {settings}.")
            trial = self._measure(study, method, words)
        except (InputError, WorkError) as error:
            self.trials.append(Trial(study, words, error=str(error)))
            return
        self.trial_log.keep(name, trial.to_json())
        self.trials.append(trial)

    def _measure(self, study: str, method: Method, words: Words) -> Trial:
        rows, began = self.rows, time.perf_counter()
        n_classes = len(rows.class_names)
        context = self.context
        note_unused(context, method)
        fitted = method.fit(
            rows.rows("train"), rows.rows("val"), n_classes=n_classes, context=context
        )
        seconds = time.perf_counter() - began
        folder = ModelFolder(fitted.model, rows.class_names, None, {})
        evaluator = Evaluator(folder, run=Run(threads=context.threads, progress=context.progress))
        scored, truths = evaluator.score_store(rows, "val")
        measures = measure(scored.ranks, truths, n_classes=n_classes)
        return Trial(
            study,
            self._spell(words | fitted.settings),
            measures.sample_at[0],
            measures.sample_at[4],
            fitted.epochs,
            round(seconds, 3),
            [_pick(epoch, "epoch", "top1", "top5") for epoch in fitted.history],
            [dict(tried) for tried in fitted.table],
        )

    def _spell(self, settings: Words) -> Words:
        """Return the settings that are options, each as a user would state it."""
        names = sorted(self.options, key=lambda name: SWEPT.index(name) if name in SWEPT else 9)
        found = _pick(settings, *names)
        return {name: self.options[name].spell(value) for name, value in found.items()}

    def _fixed_settings(self) -> Words:
        """Return the settings that the search found, without those that are varied."""
        tried = (*SWEPT, "schedule", "epochs")
        settings = self.trials[0].settings
        return {name: settings[name] for name in settings if name not in tried}

    def _values(self, name: str) -> list[Any]:
        """Return the values of a setting that the search tried or found, sorted."""
        trained = [trial for trial in self.trials if trial.error is None]
        tried = [row[name] for trial in trained for row in trial.search if name in row]
        tried += [trial.settings[name] for trial in trained if trial.settings.get(name) is not None]
        return sorted(dict.fromkeys(tried), key=lambda value: (isinstance(value, str), value))

    def _lams(self, eta: Any) -> list[float]:
        if eta is not None:
            return [float(f"{decay / float(eta):.3g}") for decay in DECAYS]
        lam = self.best.settings.get("lam") if self.best else None
        return [float(f"{factor * float(lam):.3g}") for factor in FACTORS] if lam else []


def _pick(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row}
