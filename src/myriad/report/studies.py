"""The pages of studies on one set of rows: objectives or codes compared, and settings tuned."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from myriad.codes.registry import code_name
from myriad.files import atomic_write
from myriad.pipelines.training.trials import STUDIES
from myriad.report import plots
from myriad.report.entries import clean_text
from myriad.report.page import render_page, write_page
from myriad.report.plots import plot_ratios, plot_times
from myriad.report.plots.studies import MOST_LINES
from myriad.report.wording import show_count, show_number, show_percent, show_seconds

FIRST = ("beta", "eta", "lam")
"""The settings that stand first in tables."""
REGULARISED = ("none", "lam", "lam, step shrinking")
COLUMNS = (
    "Codes",
    "Ratio",
    "Bytes per row",
    "Top-1, over samples",
    "Top-5, over samples",
    "Top-1, mean over classes",
    "Error",
    "Coding",
    "Training",
    "Predicting",
)
WORKS = ("coding", "training", "predicting")


def write_comparison(content: Mapping[str, Any], path: Path) -> None:
    """Write the page of a comparison, as ``compare`` prints it, as one HTML file."""
    write_page(render_comparison(content), path)


def render_comparison(content: Mapping[str, Any]) -> str:
    """Return the page of a comparison as text."""
    rows = content["rows"]
    entries = [
        plots.Entry(
            clean_text(row["objective"]),
            row["validation"].get("top1"),
            None if row["test"] is None else row["test"].get("top1"),
            row["seconds"],
        )
        for row in rows
    ]
    best, most = content["best"], content["classes"]
    return render_page(
        "comparison.html",
        store=clean_text(content["store"]),
        classes=content["classes"],
        lines=[_clean_line(row) for row in rows],
        tested=any(row["test"] is not None for row in rows),
        best=None if best is None else clean_text(best["objective"]),
        sizes={
            split: next((row[split].get("n", 0) for row in rows if row[split]), 0)
            for split in ("validation", "test")
        },
        ranking=plots.plot_ranking(entries),
        costs=plots.plot_costs(entries),
        epochs=plots.plot_epochs(
            [plots.Series(clean_text(row["objective"]), _curve(row)) for row in rows]
        ),
        guesses={
            split: plots.plot_guesses(
                [
                    plots.Series(clean_text(row["objective"]), _guesses(row[split], most))
                    for row in rows
                ]
            )
            for split in ("validation", "test")
        },
        most_lines=MOST_LINES,
    )


def write_tuning(content: Mapping[str, Any], path: Path) -> None:
    """Write the page of tuned settings, as ``tune`` prints them, as one HTML file."""
    write_page(render_tuning(content), path)


def render_tuning(content: Mapping[str, Any]) -> str:
    """Return the page of tuned settings as text."""
    rows, best = content["rows"], content["best"]
    present = dict.fromkeys(name for row in rows for name in row["settings"])
    names = sorted(present, key=lambda name: FIRST.index(name) if name in FIRST else len(FIRST))
    searched = [tried for row in rows for tried in row["search"]]
    regularised = {study: _find_best(rows, study) for study in REGULARISED}
    return render_page(
        "tuning.html",
        objective=clean_text(content["objective"]),
        store=clean_text(content["store"]),
        classes=content["classes"],
        command=clean_text(shlex.join(content["command"])),
        best=_clean_trial(best, names),
        names=[clean_text(name) for name in names],
        trials=[_clean_trial(row, names) for row in _rank(rows)],
        searched=_rank(searched),
        searched_names=list(dict.fromkeys(key for row in searched for key in row)),
        betas=plots.plot_values("beta", _lines_of_beta(rows)),
        epochs=plots.plot_epochs(_lines_of_epochs(rows)),
        lams=plots.plot_values("lam", _lines_of_lam(rows)),
        regularised=plots.plot_epochs(
            [plots.Series(STUDIES[s], _curve(row)) for s, row in regularised.items() if row]
        ),
    )


def _clean_line(row: Mapping[str, Any]) -> dict[str, Any]:
    summary = ", ".join(f"{name} {show_number(value)}" for name, value in row["settings"].items())
    return dict(row) | {
        "objective": clean_text(row["objective"]),
        "settings": clean_text(summary),
        "error": None if row["error"] is None else clean_text(row["error"]),
    }


def _clean_trial(row: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    values = [row["settings"].get(name) for name in names]
    return {
        "study": STUDIES.get(row["study"], clean_text(row["study"])),
        "values": [clean_text(v) if isinstance(v, str) else v for v in values],
        "top1": row["top1"],
        "top5": row["top5"],
        "epochs": row["epochs"],
        "seconds": row["seconds"],
        "error": None if row["error"] is None else clean_text(row["error"]),
    }


def _curve(row: Mapping[str, Any]) -> list[tuple[float, float]]:
    history = row["history"]
    return [(float(h["epoch"]), h["top1"]) for h in history if h.get("top1") is not None]


def _guesses(accuracies: Mapping[str, Any] | None, most: int) -> list[tuple[float, float]]:
    found = (accuracies or {}).get("accuracy_at", {})
    points = ((float(k), value) for k, value in found.items() if value is not None)
    return sorted(point for point in points if point[0] <= most)


def _rank(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    def score(row: Mapping[str, Any]) -> tuple[float, float]:
        return (row.get("top1") or -1.0), (row.get("top5") or -1.0)

    return sorted(rows, key=score, reverse=True)


def _find_best(rows: Sequence[Mapping[str, Any]], study: str) -> Mapping[str, Any] | None:
    done = [row for row in rows if row["study"] == study and row["top1"] is not None]
    return max(done, key=lambda row: row["top1"], default=None)


def _lines_of_beta(rows: Sequence[Mapping[str, Any]]) -> list[plots.Series]:
    """Return accuracy against beta: first with the best learning rate, then a line per rate.

    The accuracy with all negatives is a horizontal line, as it has no beta [GP, Figure 1].
    """
    grid = [row for row in rows if row["study"] == "grid" and row["top1"] is not None]
    whole = [row["top1"] for row in grid if row["settings"].get("beta") == "all"]
    points: dict[Any, dict[float, float]] = {"best learning rate": {}}
    for row in grid:
        beta, eta = row["settings"].get("beta"), row["settings"].get("eta")
        if isinstance(beta, int | float):
            for name in ("best learning rate", f"eta {show_number(eta)}"):
                line = points.setdefault(name, {})
                line[float(beta)] = max(row["top1"], line.get(float(beta), 0.0))
    if len(points) == 2:
        del points["best learning rate"]
    lines = [plots.Series(str(name), sorted(line.items())) for name, line in points.items()]
    lines = lines[: MOST_LINES - bool(whole)]
    return lines + ([plots.Series("beta all", [(1.0, max(whole))], flat=True)] if whole else [])


def _lines_of_epochs(rows: Sequence[Mapping[str, Any]]) -> list[plots.Series]:
    """Return the learning curves of the best trial of each beta, or of each learning rate."""
    grid = [row for row in rows if row["study"] in ("auto", "grid") and row["top1"] is not None]
    swept = "beta" if any("beta" in row["settings"] for row in grid) else "eta"
    best: dict[str, Mapping[str, Any]] = {}
    for row in _rank(grid):
        best.setdefault(f"{swept} {show_number(row['settings'].get(swept))}", row)
    return [plots.Series(clean_text(name), _curve(row)) for name, row in best.items()]


def _lines_of_lam(rows: Sequence[Mapping[str, Any]]) -> list[plots.Series]:
    lines = []
    for study in REGULARISED[1:]:
        points = [
            (float(row["settings"]["lam"]), row["top1"])
            for row in rows
            if row["study"] == study and row["top1"] is not None and row["settings"].get("lam")
        ]
        lines.append(plots.Series(STUDIES[study], sorted(points)))
    none = _find_best(rows, "none")
    if none is not None:
        lines.append(plots.Series(STUDIES["none"], [(1.0, none["top1"])], flat=True))
    return lines


def write_code_page(rows: Sequence[Mapping[str, Any]], path: Path, *, title: str) -> None:
    """Write the page of a comparison of codes; `rows` are its lines as plain JSON."""
    rows = [{**row, "codes": code_name(row["codes"])} for row in rows]
    page = render_page(
        "codes.html",
        title=title,
        n=show_count(rows[0]["n"]),
        split={"val": "validation"}.get(rows[0]["split"], rows[0]["split"]),
        plot=plot_ratios(rows),
        times=[(f"Time of {work}", plot_times(rows, work)) for work in WORKS],
        columns=COLUMNS,
        rows=[_write_row(row) for row in rows],
    )
    with atomic_write(path) as beside:
        beside.write_text(page, encoding="utf-8", errors="backslashreplace")


def _write_row(row: Mapping[str, Any]) -> list[str]:
    error = None if row["error"] is None else 100 * row["error"]
    return [
        "plain" if row["codes"] == "none" else row["codes"],
        show_number(round(row["ratio"], 1)),
        show_count(row["bytes_per_row"]),
        show_percent(row["top1"]),
        show_percent(row["top5"]),
        show_percent(row["class_top1"]),
        show_percent(error),
        show_seconds(row["seconds_coding"]),
        show_seconds(row["seconds_training"]),
        show_seconds(row["seconds_predicting"]),
    ]
