"""Rules by which a run may replace a finished model.

With ``--resume``, it replaces only a model of the same data and settings.
A model states in its `config.json` what it was trained from. While ``--overwrite`` replaces a
model, a file in the folder of the training's checkpoints names the run, so that ``--resume`` can
complete that run and no other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

from myriad.errors import InputError
from myriad.files import dump_json, read_json
from myriad.models import read_source
from myriad.models.folder import CONFIG
from myriad.pipelines.outputs import store_is_begun
from myriad.store import Store
from myriad.training import Method

MARK = "replacing.json"
REFUSED = "Use --overwrite to replace it, or another name."


def describe_method(method: Method) -> dict[str, Any]:
    """Return the objective and the options that differ from their defaults, as plain JSON."""
    text = json.dumps(_list_stated(method), default=repr)
    plain: dict[str, Any] = json.loads(text, parse_constant=str)  # JSON files hold no infinity
    return {"objective": method.objective, **plain}


def _list_stated(options: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults, in nested ones too.

    Fields that a later version adds change nothing of what an earlier one has written.
    """
    stated = {}
    for field in fields(options):
        value, default = getattr(options, field.name), field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        if default is MISSING or value != default:
            stated[field.name] = _list_stated(value) if is_dataclass(value) else value
    return stated


def describe_source(store: Store, method: Method) -> dict[str, Any]:
    """Return what identifies the rows and the settings of a training, as its model keeps it."""
    return {"store": store.fingerprint, "method": describe_method(method)}


def is_trained_from(model: Path, source: dict[str, Any]) -> bool:
    """Return whether a finished model was trained from this source; true if it is not recorded."""
    earlier = read_source(model) if (model / CONFIG).is_file() else None
    return earlier is None or earlier == source


def check_finished(model: Path, source: dict[str, Any]) -> None:
    """Raise `InputError` if a folder holds a finished model of another source."""
    if not (model / CONFIG).is_file():
        return
    earlier = read_source(model)
    if earlier is None:
        raise InputError(
            f"{model} holds a finished model of an earlier version, which does not say what it "
            f"was trained from. {REFUSED}"
        )
    if earlier != source:
        alike = earlier.get("store") == source["store"]
        what = "with other settings" if alike else "on other data"
        raise InputError(f"{model} holds a finished model that was trained {what}. {REFUSED}")


class Replacement:
    """Decides whether a run may replace the finished model in a folder.

    Parameters
    ----------
    model : the folder.
    state : the folder of the training's checkpoints.
    data : the images, or the store that they were made into.
    method : as the user requested it.
    overwrite, resume : the options.
    """

    def __init__(
        self,
        model: Path,
        state: Path,
        data: Path | Store,
        method: Method,
        *,
        overwrite: bool,
        resume: bool,
    ) -> None:
        self.model, self.method, self.overwrite = model, method, overwrite
        self._mark = state / MARK
        named = data.fingerprint if isinstance(data, Store) else os.path.realpath(data)
        self._run = {"data": named, "method": describe_method(method)}
        self.allowed = overwrite or (resume and self._read() == self._run)

    def check(self, store: Store) -> None:
        """Raise `InputError` if a finished model of other rows or settings must stay."""
        if not self.allowed:
            check_finished(self.model, describe_source(store, self.method))

    def check_store(self, store: Path) -> None:
        """Raise `InputError` if a finished model must stay whose rows would all be made again."""
        if not self.allowed and (self.model / CONFIG).is_file() and not store_is_begun(store):
            raise InputError(
                f"{self.model} holds a finished model and there is no store {store}, so there is "
                f"nothing to resume. {REFUSED}"
            )

    @contextmanager
    def marked(self) -> Iterator[None]:
        """Record a run that overwrites a finished model; undo this if its input is wrong."""
        if not self.overwrite or not (self.model / CONFIG).is_file():
            yield
            return
        self._mark.parent.mkdir(parents=True, exist_ok=True)
        self._mark.write_text(dump_json(self._run), encoding="utf-8")
        try:
            yield
        except InputError:
            self._mark.unlink(missing_ok=True)
            with suppress(OSError):
                self._mark.parent.rmdir()
            raise

    def _read(self) -> dict[str, Any] | None:
        """Return the run that was replacing the model when it ended too early, if any."""
        try:
            return read_json(self._mark)
        except InputError:
            return None
