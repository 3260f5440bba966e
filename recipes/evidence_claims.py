"""Functions that the sections of docs/evidence.md share: results, claims and verdicts.

A verdict is computed from the results, so that it changes with them. A difference of one seed is
decided if it is more than a point; one over n seeds if it is more than twice its standard error and
more than a point over the root of n. No difference of four test images or fewer is decided. A claim
of a gain does not hold either where all that is left within the noise is less than half a point.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from highly_multiclass_tables import RESULTS, format_table

__all__ = ["format_table"]

HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "**does not hold**", "undecided", "not run"
MOSTLY = "holds for most"
ONE_SEED = 1.0
"""Points that a difference of one seed must have to be decided."""
SMALL = 0.5
"""A gain that is surely below this many points is none."""
FEW_IMAGES = 4
"""Test images that are within twice the standard error of their own number, its root."""

OURS = "–"
"""Stands for the paper's number where the paper does not compare these two."""

Claim = tuple[str, str, str, str]
"""What a paper says, its number, ours, and the verdict."""


class Source:
    """The folder that results are read from."""

    folder = RESULTS


def read(name: str) -> dict[str, Any]:
    """Return a file of results, by its name or by its recipe; empty where there is none."""
    files = read_all()
    by_recipe = (found for found in files.values() if found.get("recipe") == name)
    return files.get(name) or next(by_recipe, {})


def read_all() -> dict[str, dict[str, Any]]:
    """Return all files of results by their names, without those that are something else."""
    found = {}
    for path in sorted(Source.folder.glob("*.json")):
        try:
            content = json.loads(path.read_text("utf-8"))
        except ValueError:
            continue
        if isinstance(content, dict):
            found[path.stem] = content
    return found


def give_verdict(ours: float | None, holds: bool, text: str = "") -> tuple[str, str]:
    """Return how a number is shown, and the verdict."""
    if ours is None:
        return "–", NOT_RUN
    return text or f"{ours:.1f}", HOLDS if holds else FAILS


def compare_seeds(
    gains: Sequence[float],
    *,
    least: float = 0.0,
    sign: int = 1,
    digits: int = 1,
    tested: float = math.inf,
) -> tuple[str, str]:
    """Return paired differences as text and the verdict on the claim that they are positive.

    Parameters
    ----------
    gains : a difference for each seed.
    least : minimum mean that the claim needs: -1 for "at most a point behind".
    sign : -1 for the claim that they are negative.
    digits : decimals that are shown.
    tested : number of test images; a difference of `FEW_IMAGES` decides nothing.

    A claim of a gain also fails if the gain is surely less than `SMALL`.
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
    noise = max(noise, 100 * FEW_IMAGES / tested)
    ahead = sign * mean - least
    same = len(gains) > 1 and not any(gains) and least == 0.0  # the same model in every seed
    if same and math.isinf(tested):
        return "0.0, the same", FAILS
    if abs(ahead) > noise:
        return text, HOLDS if ahead > 0 else FAILS
    return text, FAILS if least == 0.0 and ahead + noise < SMALL else UNDECIDED


def show_range(values: Sequence[float], form: str, unit: str = "") -> str:
    """Return the least and the largest of some values as text, or the one value; "–" for none."""
    if not values:
        return "–"
    shown = dict.fromkeys(format(value, form) for value in (min(values), max(values)))
    return " to ".join(shown) + unit


def pair(cells: dict[str, Any], first: str, second: str, value: str) -> list[float]:
    """Return the differences of two lines of results, ``LINE/SEED``, for the seeds of both."""
    found = []
    for seed in range(100):
        ours, other = cells.get(f"{first}/{seed}"), cells.get(f"{second}/{seed}")
        if ours is not None and other is not None:
            found.append(ours[value] - other[value])
    return found


def list_seeds(cells: dict[str, Any], line: str, value: str) -> list[float]:
    """Return a value of a line of results for each of its seeds."""
    return [cells[f"{line}/{seed}"][value] for seed in range(100) if f"{line}/{seed}" in cells]


def count_tested(cells: dict[str, Any]) -> float:
    """Return the least number of test images of some results; infinity where none states it."""
    return min((cell["tested"] for cell in cells.values() if "tested" in cell), default=math.inf)


def least_points(cells: dict[str, Any]) -> float:
    """Return the points of `FEW_IMAGES` test images of some results."""
    return 100 * FEW_IMAGES / count_tested(cells)


def average(cells: dict[str, Any], line: str, value: str) -> tuple[float, int] | None:
    """Return the mean of a line of results over its seeds, and their number."""
    seeds = list_seeds(cells, line, value)
    return (float(np.mean(seeds)), len(seeds)) if seeds else None


def format_claims(claims: Iterable[Claim]) -> str:
    """Return claims as a table."""
    return format_table(["claim", "paper", "here", "verdict"], [list(claim) for claim in claims])


def list_claims(text: str) -> list[list[str]]:
    """Return the rows of the tables of claims in a text."""
    rows = (line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| "))
    return [row for row in rows if len(row) == 4]


def count_verdict(text: str, verdict: str) -> int:
    """Return how many claims of a paper have a verdict in the tables of a text.

    Comparisons of our own, which explain others, are not counted.
    """
    return sum(row[3] == verdict and row[1] != OURS for row in list_claims(text))


def describe_origin(cells: dict[str, Any]) -> str:
    """Return the machines and the dates of results, or of the one file without cells."""
    if not cells:
        return "Not run."
    runs = [cells] if "machine" in cells else list(cells.values())
    machines = sorted({run["machine"] for run in runs})
    dates = sorted({run["date"][:10] for run in runs})
    return f"Run on {' and '.join(dates)}, {'; '.join(machines)}."
