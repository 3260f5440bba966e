"""Predictions as files: CSV, Parquet, and the journal from which a broken run resumes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from myriad.arrow import pa, pq
from myriad.errors import InputError
from myriad.files import atomic_write, is_encodable, naming_full_disk, read_json
from myriad.models.folder import CONFIG

EXTRAS = ("assigned", "set", "unknown", "novelty", "answer", "answer_level", "answer_probability")
"""Columns that depend on the options; they are the same in all lines of an image."""


COLUMNS = ("path", "rank", "label", "score", "probability")


def list_rows(predictions: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[Any]]]:
    """Return the columns of a table of predictions and its rows, one for each image and rank.

    The probability is empty where the model is not calibrated. What else was decided follows; the
    labels of a set, or given to a row that may have several, are separated by ``|``.
    """
    flat = [flatten_decision(prediction) for prediction in predictions]
    extras = [name for name in EXTRAS if flat and name in flat[0]]
    rows = []
    for prediction, decision in zip(predictions, flat, strict=True):
        for rank, entry in enumerate(prediction["labels"], start=1):
            cells = [entry["label"], entry["score"], entry.get("probability")]
            more = [decision[name] for name in extras]
            rows.append([prediction["path"], rank, *cells, *more])
    return [*COLUMNS, *extras], rows


def write_csv(predictions: Sequence[dict[str, Any]], path: Path) -> None:
    """Write predictions as CSV; see `list_rows`."""
    columns, rows = list_rows(predictions)
    with (
        atomic_write(path) as beside,
        beside.open("w", encoding="utf-8", errors="surrogateescape", newline="") as stream,
    ):
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(rows)


def write_parquet(predictions: Sequence[dict[str, Any]], path: Path) -> None:
    """Write predictions as Parquet; see `list_rows`."""
    columns, rows = list_rows(predictions)
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    kinds = {"rank": pa.int32(), "score": pa.float64(), "probability": pa.float64()}
    arrays = [
        pa.array([_clean(value) for value in cell], kinds.get(name))
        for name, cell in zip(columns, cells, strict=True)
    ]
    with atomic_write(path) as beside:
        pq.write_table(pa.table(dict(zip(columns, arrays, strict=True))), beside)


def _clean(value: Any) -> Any:
    """Return a value that Arrow can hold: names of files may not be valid Unicode."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def flatten_decision(prediction: dict[str, Any]) -> dict[str, Any]:
    """Return the decisions beyond ranked labels, as cells of a table by column."""
    names = ("unknown", "novelty")
    line: dict[str, Any] = {name: prediction[name] for name in names if name in prediction}
    for name in ("assigned", "set"):
        if name in prediction:
            line[name] = "|".join(prediction[name])
    if "answer" in prediction:
        answer = prediction["answer"]
        line |= {"answer": answer["label"], "answer_level": answer["level"]}
        line["answer_probability"] = answer["probability"]
    return line


def identify(model: Path) -> str:
    """Return a value that changes when the model in a folder does."""
    return str(read_json(model / CONFIG).get("checksum"))


class Journal:
    """The results for each image so far, one line of JSON each in a file beside the output.

    Attributes
    ----------
    entries : the results by path.
    """

    def __init__(self, output: Path | None = None, *, resume: bool = False) -> None:
        self.entries: dict[str, dict[str, Any]] = {}
        self._output, self._resume = output, resume
        self._stream: Any = None

    @property
    def path(self) -> Path | None:
        """The file; None if nothing is kept."""
        if self._output is None:
            return None
        return self._output.parent / f".{self._output.name}.journal"

    def begin(self, key: dict[str, Any]) -> None:
        """Read the results of an interrupted run with the same key, and open the file to append.

        Raises `InputError` if the earlier run had another model or other options.
        """
        if self.path is None or self._output is None:
            return
        lines = self._read() if self._resume else []
        if lines and lines[0] != key:
            raise InputError(
                f"The interrupted run that wrote {self._output} had another model or options: "
                "give the same ones, or --overwrite."
            )
        self.entries = {entry["path"]: entry for entry in lines[1:]}
        # Without a last line that was cut short.
        with naming_full_disk(self._output), atomic_write(self.path) as beside:
            beside.write_text("".join(map(_format, [key, *lines[1:]])), encoding="utf-8")
        self._stream = self.path.open("a", encoding="utf-8")

    def add(self, found: Iterable[dict[str, Any]]) -> None:
        """Append the results for some images."""
        entries = {entry["path"]: entry for entry in found}
        self.entries |= entries
        if self._stream is not None and self._output is not None:
            with naming_full_disk(self._output):
                self._stream.writelines(map(_format, entries.values()))
                self._stream.flush()

    def close(self, *, done: bool) -> None:
        """Close the file; it is removed once the output is written."""
        if self._stream is not None:
            self._stream.close()
        if done and self.path is not None:
            self.path.unlink(missing_ok=True)

    def _read(self) -> list[dict[str, Any]]:
        """Return the lines of the file; the last one may have been cut short."""
        assert self.path is not None
        if not self.path.is_file():
            return []
        try:
            *whole, _ = self.path.read_text(encoding="utf-8").split("\n")
            lines = [json.loads(line) for line in whole]
            valid = all(map(_is_entry, lines[1:]))
            _, rows = list_rows([one for one in lines[1:] if valid and "reason" not in one])
            valid &= all(is_encodable(cell) for row in rows for cell in row if type(cell) is str)
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            valid = False
        if not valid:
            raise InputError(f"{self.path} is damaged: use --overwrite to start again.")
        return lines


def _is_entry(entry: Any) -> bool:
    """Return whether a line is a result: an image that could not be read, or ranked labels."""
    match entry:
        case {"path": str(), "reason": str()}:
            return True
        case {"path": str(), "labels": [_, *_] as labels}:
            return all(_is_label(label) for label in labels)
    return False


def _is_label(label: Any) -> bool:
    match label:
        case {"label": str(), "score": float(), "probability": float() | None}:
            return True
        case {"label": str(), "score": float()}:
            return "probability" not in label
    return False


def _format(entry: dict[str, Any]) -> str:
    return json.dumps(entry) + "\n"
