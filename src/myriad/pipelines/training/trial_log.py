"""A log of finished trials in one JSON file, from which an interrupted study resumes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from myriad.errors import InputError
from myriad.files import partial_of, read_json, write_json
from myriad.pipelines.outputs import EXISTS_HINT, check_writable, list_entries

FORMAT = 1


class TrialLog:
    """Finished trials by name, each a plain JSON object.

    Parameters
    ----------
    path : the file; it is read if `resume`, and written atomically now and at each entry.
    key : what all trials depend on, plain JSON; a file with another key is refused.
    """

    def __init__(self, path: Path, key: Mapping[str, Any], *, resume: bool) -> None:
        self.path, self.key = path, dict(key)
        self._finished: dict[str, dict[str, Any]] = {}
        if resume and path.exists():
            self._finished = self._read()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._write()

    def find(self, name: str) -> Record | None:
        """Return a finished trial, or None."""
        finished = self._finished.get(name)
        return None if finished is None else Record(finished, self.path)

    def keep(self, name: str, trial: Mapping[str, Any]) -> None:
        """Add a finished trial and write the file."""
        self._finished[name] = dict(trial)
        self._write()

    def _write(self) -> None:
        write_json(self.path, {"format": FORMAT, "key": self.key, "finished": self._finished})

    def _read(self) -> dict[str, dict[str, Any]]:
        content = read_json(self.path)
        finished = content.get("finished")
        if content.get("format") != FORMAT or not isinstance(finished, dict):
            raise damage(self.path)
        if content.get("key") != self.key:
            raise InputError(
                f"{self.path} was made from other rows, or with another seed or objective. "
                "Use --overwrite to start again, or another name."
            )
        if not all(isinstance(trial, dict) for trial in finished.values()):
            raise damage(self.path)
        return finished


class Record:
    """A trial as read from a log; every value is checked, since the file may be damaged."""

    def __init__(self, content: Any, path: Path) -> None:
        if not isinstance(content, dict):
            raise damage(path)
        self.content, self._path = content, path

    def number(self, key: str, low: float = 0.0, high: float = 1e18) -> float | None:
        """Return a number, or None where there is none."""
        value = self.content.get(key)
        if value is None:
            return None
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if not plain or not math.isfinite(value) or not low <= value <= high:
            raise damage(self._path)
        return float(value)

    def count(self, key: str) -> int:
        """Return a whole number, 0 where there is none."""
        return int(self.number(key) or 0)

    def text(self, key: str) -> str | None:
        """Return a text, or None where there is none."""
        value = self.content.get(key)
        if not isinstance(value, str | None):
            raise damage(self._path)
        return value

    def record(self, key: str) -> Record:
        """Return an object within, empty where there is none."""
        value = self.content.get(key)
        return Record({} if value is None else value, self._path)

    def records(self, key: str) -> list[Record]:
        """Return a list of objects within."""
        value = self.content.get(key, [])
        if not isinstance(value, list):
            raise damage(self._path)
        return [Record(item, self._path) for item in value]

    def settings(self, key: str) -> dict[str, float | str | None]:
        """Return an object of plain values within."""
        return self.record(key).plain()

    def plain(self) -> dict[str, float | str | None]:
        """Return this object if all its values are plain."""
        if not all(isinstance(value, int | float | str | None) for value in self.content.values()):
            raise damage(self._path)
        return {str(name): value for name, value in self.content.items()}


def damage(path: Path) -> InputError:
    """Return the error for a log that is damaged."""
    return InputError(f"{path} is damaged. Use --overwrite to start again, or another name.")


def check_trial_log(folder: Path, name: str, *, overwrite: bool, resume: bool) -> None:
    """Raise `InputError` unless a study with a log called `name` may write to `folder`.

    Only files that the study itself writes are ever replaced.
    """
    held = [path for path in list_entries(folder) if path != partial_of(folder / name)]
    if held and not (folder / name).is_file():
        raise InputError(
            f"{folder} holds files but no {name}, so nothing is written there. Use another name."
        )
    if (folder / name).is_file() and not (overwrite or resume):
        raise InputError(f"{folder} exists. {EXISTS_HINT}")
    check_writable(folder)
