"""Functions that the sections of docs/evidence.md share: results, claims and verdicts.

A verdict is computed from the results, so that it changes with them. A difference of one seed is
decided if it is more than a point; one over n seeds if it is more than twice its standard error and
more than a point over the root of n.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from highly_multiclass_tables import RESULTS, format_table

__all__ = ["format_table"]

HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "**does not hold**", "undecided", "not run"
MOSTLY = "holds for most"
ONE_SEED = 1.0
"""Points that a difference of one seed must have to be decided."""

Claim = tuple[str, str, str, str]
"""What a paper says, its number, ours, and the verdict."""


def read(name: str) -> dict[str, Any]:
    """Return a file of results; empty where it has not been written."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def give_verdict(ours: float | None, holds: bool, text: str = "") -> tuple[str, str]:
    """Return how a number is shown, and the verdict."""
    if ours is None:
        return "–", NOT_RUN
    return text or f"{ours:.1f}", HOLDS if holds else FAILS


def compare_seeds(
    gains: Sequence[float], *, least: float = 0.0, sign: int = 1, digits: int = 1
) -> tuple[str, str]:
    """Return paired differences as text and the verdict on the claim that they are positive.

    Parameters
    ----------
    gains : a difference for each seed.
    least : minimum mean that the claim needs: -1 for "at most a point behind".
    sign : -1 for the claim that they are negative.
    digits : decimals that are shown.
    """
    if not gains:
        return "–", NOT_RUN
    mean = float(np.mean(gains))
    if len(gains) == 1:
        text, noise = f"{mean:+.{digits}f}", ONE_SEED
    else:
        root = len(gains) ** 0.5
        error = float(np.std(gains, ddof=1)) / root
        text = f"{mean:+.{digits}f} ± {error:.{digits}f} ({len(gains)})"
        noise = max(2 * error, ONE_SEED / root)  # the deviation of few seeds is itself uncertain
    ahead = sign * mean - least
    if len(gains) > 1 and not any(gains) and least == 0.0:  # the same model in every seed
        return "0.0, the same", FAILS
    return text, UNDECIDED if abs(ahead) <= noise else HOLDS if ahead > 0 else FAILS


def pair(cells: dict[str, Any], first: str, second: str, value: str) -> list[float]:
    """Return the differences of two lines of results, ``LINE/SEED``, for the seeds of both."""
    found = []
    for seed in range(100):
        ours, other = cells.get(f"{first}/{seed}"), cells.get(f"{second}/{seed}")
        if ours is not None and other is not None:
            found.append(ours[value] - other[value])
    return found


def average(cells: dict[str, Any], line: str, value: str) -> tuple[float, int] | None:
    """Return the mean of a line of results over its seeds, and their number."""
    seeds = [cells[f"{line}/{seed}"][value] for seed in range(100) if f"{line}/{seed}" in cells]
    return (float(np.mean(seeds)), len(seeds)) if seeds else None


def format_claims(claims: Iterable[Claim]) -> str:
    """Return claims as a table."""
    return format_table(["claim", "paper", "here", "verdict"], [list(claim) for claim in claims])


def describe_origin(cells: dict[str, Any]) -> str:
    """Return the machine and the dates of results."""
    if not cells:
        return "Not run."
    machines = sorted({cell["machine"] for cell in cells.values()})
    dates = sorted({cell["date"][:10] for cell in cells.values()})
    return f"Run on {' and '.join(dates)}, {'; '.join(machines)}."
