"""Trials of settings with their results, and the best of them as a command."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from myriad.pipelines.training.trial_log import Record
from myriad.store import Store

SWEPT = ("beta", "eta", "lam")
"""Settings that are tried."""
USUAL = (("lam", 0.0), ("schedule", "fixed"), ("loss", "hinge"))
"""Settings that need not be stated."""
STUDIES = {
    "auto": "searched",
    "grid": "grid",
    "none": "no regularisation",
    "lam": "lam, fixed rate",
    "lam, step shrinking": "lam, shrinking rate",
}
"""The kinds of trials, and their titles in tables and reports."""


@dataclass(frozen=True)
class Trial:
    """One setting that was trained.

    Attributes
    ----------
    study : the kind of trial, one of `STUDIES`.
    settings : the values of the settings.
    top1, top5 : accuracy on validation rows over samples, in percent.
    epochs : the best epoch.
    seconds : the time it took.
    history : a row for each epoch: ``epoch``, ``top1``, ``top5``.
    search : the candidates of a search in this trial.
    error : why it failed.
    """

    study: str
    settings: dict[str, Any]
    top1: float | None = None
    top5: float | None = None
    epochs: int = 0
    seconds: float | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    search: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None

    @property
    def score(self) -> tuple[float, float]:
        """The key by which trials are ranked."""
        return (-1.0, -1.0) if self.top1 is None or self.top5 is None else (self.top1, self.top5)

    def to_json(self) -> dict[str, Any]:
        """Return the trial as plain JSON."""
        return asdict(self)

    @classmethod
    def from_record(cls, study: str, record: Record) -> Trial:
        """Read a trial from a trial log."""
        return cls(
            study,
            record.settings("settings"),
            record.number("top1", high=100.001),
            record.number("top5", high=100.001),
            record.count("epochs"),
            record.number("seconds"),
            [
                {"epoch": row.count("epoch")}
                | {name: row.number(name, high=100.001) for name in ("top1", "top5")}
                for row in record.records("history")
            ],
            [row.plain() for row in record.records("search")],
        )


@dataclass(frozen=True)
class Tuned:
    """All trials of an objective on some rows, in the order in which they were made."""

    store: Store
    objective: str
    seed: int
    trials: list[Trial]
    seconds: float

    @property
    def best(self) -> Trial:
        """The best trial on validation rows; of equals the first."""
        done = [trial for trial in self.trials if trial.error is None]
        return max(done, key=lambda trial: trial.score)

    @property
    def command(self) -> list[str]:
        """The words of the command that trains a model with the best settings."""
        words = ["myriad", "train", str(self.store.path), "--out", "MODEL"]
        words += ["--objective", self.objective]
        for name, value in self.best.settings.items():
            if value is None or value is False or (name, value) in USUAL or name == "epochs":
                continue
            words.append(f"--{name.replace('_', '-')}")
            if value is not True:
                words.append(f"{value:g}" if isinstance(value, float) else str(value))
        if self.best.epochs > 0:
            words += ["--epochs", str(self.best.epochs)]
        return [*words, *(["--seed", str(self.seed)] if self.seed else [])]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``tune`` prints, without the path of the page."""
        return {
            "store": str(self.store.path),
            "objective": self.objective,
            "classes": len(self.store.class_names),
            "rows": [trial.to_json() for trial in self.trials],
            "best": self.best.to_json(),
            "command": self.command,
            "seconds": round(self.seconds, 3),
        }
