"""Which finished model a run may replace: with ``--resume``, one of the same data and settings.

A model states in its `config.json` what it was trained from. While ``--overwrite`` replaces a
model, a file in the folder of the training's checkpoints names the run, so that ``--resume`` can
complete that run and no other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields
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
    stated = {
        field.name: getattr(method, field.name)
        for field in fields(method)
        if field.default is MISSING or getattr(method, field.name) != field.default
    }
    plain: dict[str, Any] = json.loads(json.dumps(stated, default=repr))
    return {"objective": method.objective, **plain}


def describe_source(store: Store, method: Method) -> dict[str, Any]:
    """Return what identifies the rows and the settings of a training, as its model keeps it."""
    return {"store": store.fingerprint, "method": describe_method(method)}


def is_trained_from(model: Path, source: dict[str, Any]) -> bool:
    """Return whether a finished model was trained from this; yes if it does not say."""
    found = read_source(model) if (model / CONFIG).is_file() else None
    return found is None or found == source


def check_finished(model: Path, **source: Any) -> None:
    """Raise `InputError` if a folder holds a finished model of another source.

    Parameters
    ----------
    source : entries of `describe_source`, all or some of them.
    """
    if not (model / CONFIG).is_file():
        return
    found = read_source(model)
    if found is None:
        raise InputError(
            f"{model} holds a finished model of an earlier version, which does not say what it "
            f"was trained from. {REFUSED}"
        )
    differing = [name for name, value in source.items() if found.get(name) != value]
    if differing:
        what = "on other data" if "store" in differing else "with other settings"
        raise InputError(f"{model} holds a finished model that was trained {what}. {REFUSED}")


class Replacement:
    """Tells whether a run may replace the finished model in a folder.

    Parameters
    ----------
    model : the folder.
    state : the folder of the training's checkpoints.
    data : the images, or the store that they were made into.
    method : as the user asked for it.
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

    def check(self, store: Store | None) -> None:
        """Raise `InputError` if a finished model of another source must stay.

        Parameters
        ----------
        store : the rows; None if they have not been made yet.
        """
        if not self.allowed:
            known = {} if store is None else {"store": store.fingerprint}
            check_finished(self.model, **known, method=self._run["method"])

    def check_store(self, store: Path) -> None:
        """Raise `InputError` if a finished model must stay whose rows would all be made again."""
        if not self.allowed and (self.model / CONFIG).is_file() and not store_is_begun(store):
            raise InputError(
                f"{self.model} holds a finished model and there is no store {store}, so there is "
                f"nothing to resume. {REFUSED}"
            )

    @contextmanager
    def marked(self) -> Iterator[None]:
        """Name the run, if it overwrites a finished model; removed again if its input is wrong."""
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
