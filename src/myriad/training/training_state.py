"""One training from its setting to its last epoch, kept in a checkpoint on the way."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from myriad.training.checkpoints import Checkpoint
from myriad.training.search import Searched
from myriad.training.settings import Setting
from myriad.training.stopping import Stopping
from myriad.training.trainer import Trainer

Weights = tuple[NDArray[Any], NDArray[Any]]


class TrainingState:
    """What training has come to, and where it is kept.

    Attributes
    ----------
    setting : the setting found, None before the search.
    table : the settings tried.
    history : a row for each epoch.
    seconds : time spent on the epochs so far.
    """

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        self._checkpoint = checkpoint
        self._kept = checkpoint.load() if checkpoint is not None else None
        state: dict[str, Any] = self._kept[0] if self._kept else {}
        self.setting = Setting.from_json(state["setting"]) if state else None
        self.table: list[dict[str, Any]] = state.get("table", [])
        self.history: list[dict[str, Any]] = state.get("history", [])
        self.seconds: float = state.get("seconds", 0.0)

    @property
    def chosen(self) -> Setting:
        """The setting to train by; the search is over."""
        assert self.setting is not None
        return self.setting

    def begin(self, setting: Setting, table: list[dict[str, Any]], found: Searched | None) -> None:
        """Take what a search has found, and what it has trained on the way if that is kept."""
        self.setting, self.table = setting, table
        if found is not None and found.trainer is not None:
            candidate = found.candidate
            self.history = candidate.history
            self.keep(found.trainer, candidate.stopping, candidate.best, last=True)
        elif self._checkpoint is not None:
            self._checkpoint.save(self._state(None), {})

    def restore(self, trainer: Trainer, stopping: Stopping) -> Weights | None:
        """Put trainer and stopping into the state kept; return the best weights, if any."""
        if self._kept is None or self._kept[0]["stopping"] is None:
            return None
        state, arrays = self._kept
        for name, value in state["stopping"].items():
            setattr(stopping, name, tuple(value) if isinstance(value, list) else value)
        trainer.epoch = state["epoch"]
        best = (arrays.pop("best.W"), arrays.pop("best.b")) if "best.W" in arrays else None
        trainer.restore(arrays)
        self._kept = None
        return best

    def keep(
        self, trainer: Trainer, stopping: Stopping, best: Weights | None, *, last: bool
    ) -> None:
        """Write the state down, if it is time to."""
        checkpoint = self._checkpoint
        if checkpoint is not None and (last or checkpoint.is_due):
            arrays = trainer.state()
            if best is not None:
                arrays |= {"best.W": best[0], "best.b": best[1]}
            state = self._state(asdict(stopping)) | {"epoch": trainer.epoch}
            checkpoint.save(state, arrays)

    def _state(self, stopping: dict[str, Any] | None) -> dict[str, Any]:
        return {
            "setting": self.chosen.to_json(),
            "table": self.table,
            "history": self.history,
            "seconds": self.seconds,
            "stopping": stopping,
        }
