"""HTML representations of searches, models and reports for notebooks, without scripts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from myriad.errors import InputError

SHOWN_ROWS = 30
"""Candidates of a search that a notebook shows, the best first."""
_ACCURACIES = ("accuracy", "top1")


class SearchTable(list[dict[str, Any]]):
    """The candidates of a search: a list of dictionaries, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No search: all settings were given.</p>"
        columns = [
            name
            for name in dict.fromkeys(name for one in self for name in one)
            if not any(isinstance(one.get(name), dict | list) for one in self)
        ]
        measured = next((name for name in _ACCURACIES if name in columns), None)
        ranked = list(self)
        if measured is not None:
            ranked.sort(key=lambda one: -(one.get(measured) or -math.inf))
        rows = [[one.get(name) for name in columns] for one in ranked[:SHOWN_ROWS]]
        more = len(self) - len(rows)
        note = f"<p>{more} more candidates, which are less accurate.</p>" if more else ""
        return write_table(columns, rows) + note


class InlineReport:
    """The report of a model, which a notebook shows in a frame; see `Classifier.report`."""

    def __init__(self, page: Path, *, height: int) -> None:
        try:
            self._text = page.read_text(encoding="utf-8")
        except OSError:
            raise InputError(
                f"{page} does not exist: myriad report {page.parent} writes it."
            ) from None
        self.page, self.height = page, height

    def __repr__(self) -> str:
        return f"<report {self.page}>"

    def _repr_html_(self) -> str:
        # Sandboxed: the page may run its own scripts, but cannot reach the notebook.
        return (
            f'<iframe sandbox="allow-scripts" title="Report" srcdoc="{escape(self._text)}" '
            f'style="width:100%;height:{int(self.height)}px;border:1px solid #ccc"></iframe>'
        )


def write_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return an HTML table; names may be in any script, in either direction."""
    head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in columns)
    lines = [[f'<td dir="auto">{escape(_write(value))}</td>' for value in row] for row in rows]
    body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def describe_model(title: str, facts: Mapping[str, Any]) -> str:
    """Return a heading and a table of facts, as HTML."""
    shown = [(name, value) for name, value in facts.items() if value is not None]
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td dir="auto" style="text-align:left">{escape(_write(value))}</td></tr>'
        for name, value in shown
    )
    return f"<strong>{escape(title)}</strong><table><tbody>{rows}</tbody></table>"


def _write(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
