"""The report of a model as one self-contained HTML file.

Style, script, plots (inline SVG, see `myriad.report.plots`) and thumbnails are embedded. Every
string of the evidence is escaped by the template, and the content security policy of the page
allows no script but its own, and no requests.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import Counter
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from myriad.errors import InputError, WorkError
from myriad.files import atomic_write
from myriad.progress import SILENT, Progress
from myriad.report import plots, wording
from myriad.report.evidence import ClassRecord, Evidence, Measures, read_evidence
from myriad.report.highlights import ExplainMistake, gather_highlights
from myriad.report.thumbnails import ReadImage, Thumbnails

MOST_BAD_SHOWN = 1000
MANY_BAD = 8
MANY_TRIALS = 12
MOST_TAKEN_FOR = 3
FEWEST_TO_PLOT = 5  # classes; fewer are better read from the table than from a plot


def write_report(
    evidence: dict[str, Any],
    path: Path,
    *,
    read_image: ReadImage,
    explain: ExplainMistake | None = None,
    progress: Progress = SILENT,
) -> None:
    """Write the report of a model as one self-contained HTML file, atomically.

    Parameters
    ----------
    evidence : dictionary
        The title, measures, classes, pairs and so on of a model; it is checked.
    path : where to write the page; its folder must exist.
    read_image : function
        Returns the image of a path of the evidence as uint8 array (height, width, 3) in RGB or
        (height, width) in grey, or None if there is none: a placeholder is shown.
    explain : draws why an image was misclassified, see `ExplainMistake`; None for no such pictures.
    """
    check_folder(path)
    page = render_report(
        read_evidence(evidence), read_image=read_image, explain=explain, progress=progress
    )
    write_page(page, path)


def check_folder(path: Path) -> None:
    """Raise `InputError` unless a page may be written to `path`; to be called before the work."""
    if os.path.isdir(path) or not os.path.isdir(path.parent):
        raise InputError(f"The report cannot be written to {path}: name a file in a folder.")


def write_page(page: str, path: Path) -> None:
    """Write a page, atomically."""
    try:
        with atomic_write(path) as beside:
            beside.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise WorkError(
            f"The report {path} could not be written: {error.strerror or error}."
        ) from None


def render_report(
    evidence: Evidence,
    *,
    read_image: ReadImage,
    explain: ExplainMistake | None = None,
    progress: Progress = SILENT,
) -> str:
    """Return the report as the text of an HTML page."""
    thumbnails = Thumbnails(read_image)
    highlights = gather_highlights(evidence, thumbnails, progress, explain)
    evaluated = [item for item in evidence.classes if item.rate is not None]
    n_classes = len(evidence.classes) or evidence.measures.classes
    return render_page(
        "report.html",
        evidence=evidence,
        noun=evidence.noun,
        measures=evidence.measures,
        highlights=highlights,
        pictured=thumbnails.found_any,
        n_classes=n_classes,
        evaluated=len(evaluated),
        train_counts=sorted({item.train for item in evidence.classes}),
        created=wording.show_time(evidence.created),
        numbers=_list_numbers(evidence, n_classes),
        plots=_draw_plots(evidence, evaluated, n_classes),
        search=_arrange_search(evidence),
        table=embed_json(_pack_classes(evidence)),
        columns=_list_columns(evidence),
        rate_name=_name_rate(evidence),
        bad_reasons=Counter(item.reason for item in evidence.bad).most_common(5),
        bad=[(item.path, item.reason) for item in evidence.bad[:MOST_BAD_SHOWN]],
        limits={"many_bad": MANY_BAD, "many_trials": MANY_TRIALS},
    )


def render_page(template: str, **context: Any) -> str:
    """Return a template that extends ``shell.html``, rendered with style and script inside."""
    script = _read_template("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return (
        _make_environment()
        .get_template(template)
        .render(
            style=Markup(_read_template("report.css")),
            script=Markup(script),
            script_digest=digest,
            **context,
        )
    )


def embed_json(content: Any) -> Markup:
    """Return JSON that is safe inside a ``script`` element, whatever strings it contains."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@cache
def _make_environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_read_template),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in ("percent", "count", "bytes", "seconds", "number", "name"):
        environment.filters[f"show_{name}"] = getattr(wording, f"show_{name}")
    environment.globals["plural"] = wording.plural
    return environment


def _read_template(name: str) -> str:
    file = resources.files("myriad.report") / "templates" / name
    return file.read_text(encoding="utf-8").replace("\r\n", "\n")


def _name_rate(evidence: Evidence) -> str:
    """Return the name of the rate by which classes are compared."""
    return "average precision" if evidence.several else "top-1 accuracy"


def _list_columns(evidence: Evidence) -> dict[str, str]:
    """Return the attributes of a class that the table of classes shows, with their titles."""
    if evidence.several:
        rates = {"precision": "precision, %", "recall": "recall, %", "f1": "F1, %"}
        shown = rates if evidence.labels is not None else {}
        return {"average_precision": "average precision, %", **shown}
    return {"top1": "top-1, %", "top5": "top-5, %"}


def _list_label_numbers(evidence: Evidence) -> list[dict[str, str]]:
    """Return the numbers at the top of a report of rows with several labels."""
    measures, labels = evidence.measures, evidence.labels
    rows = f"{evidence.split} {evidence.noun}s"
    values = {
        "mean average precision": (
            measures.mean_precision,
            f"How far the {rows} that have a label rank above those that have not, on average "
            "over labels.",
        ),
        "top-1": (measures.top1, f"of {rows} have one of their labels ranked first."),
    }
    if labels is not None:
        values |= {
            "F1, micro average": (
                labels.micro.f1,
                f"Precision {wording.show_percent(labels.micro.precision)}, recall "
                f"{wording.show_percent(labels.micro.recall)} of the assigned labels.",
            ),
            "F1, macro average": (
                labels.macro.f1,
                f"Precision {wording.show_percent(labels.macro.precision)}, recall "
                f"{wording.show_percent(labels.macro.recall)}; rare labels count as much as "
                "common ones.",
            ),
        }
    return [
        {"name": name, "value": wording.show_percent(value), "meaning": meaning, "note": ""}
        for name, (value, meaning) in values.items()
    ]


def _list_numbers(evidence: Evidence, n_classes: int) -> list[dict[str, str]]:
    """Return the four numbers at the top, each with its k, its averaging and what it means."""
    if evidence.several:
        return _list_label_numbers(evidence)
    measures = evidence.measures
    rows = f"{evidence.split} {evidence.noun}s"
    meanings = {
        "top1": f"of {rows} have their class ranked first.",
        "top5": f"of {rows} have their class among the first five.",
        "class_top1": f"of the {rows} of a class have it ranked first, averaged over classes.",
        "class_top5": f"of the {rows} of a class have it among the first five, on average.",
    }
    numbers = []
    for key, meaning in meanings.items():
        averaging = "mean over classes" if key.startswith("class") else "over samples"
        numbers.append(
            {
                "name": f"top-{key[-1]}, {averaging}",
                "value": wording.show_percent(getattr(measures, key)),
                "meaning": meaning,
                "note": _note_number(key, measures, n_classes),
            }
        )
    return numbers


def _note_number(key: str, measures: Measures, n_classes: int) -> str:
    """Return the confidence interval of a number over samples, or why it says little."""
    value = getattr(measures, key)
    if key.endswith("5") and 0 < n_classes <= 5:
        return f"With {n_classes} classes this is not informative."
    if key.startswith("class"):
        return "Rare classes count as much as common ones."
    if value is None or not measures.n:
        return ""
    low, high = wording.find_interval(value, measures.n)
    return f"95{wording.NO_BREAK}% interval {low:.1f} to {wording.show_percent(high)}"


def _draw_plots(evidence: Evidence, evaluated: list[ClassRecord], n_classes: int) -> dict[str, Any]:
    """Return the plots that have data."""
    measures, calibration = evidence.measures, evidence.calibration
    curve = [item for item in measures.accuracy_at if item[0] <= max(n_classes, 2)]
    epochs = [item for item in evidence.history if item.top1 is not None or item.top5 is not None]
    plotted = evaluated if len(evaluated) >= FEWEST_TO_PLOT else []
    rates = [item.rate for item in plotted if item.rate is not None]
    mean = measures.mean_precision if evidence.several else measures.class_top1
    name, noun = _name_rate(evidence), evidence.noun
    ranks = plots.plot_ranks(evidence.search)
    settings = plots.plot_trials(evidence.search, evidence.chosen)
    return {
        "accuracy_at": plots.plot_accuracy_at(curve, evidence.ceiling) if len(curve) > 1 else None,
        "history": plots.plot_history(epochs) if len(epochs) > 1 else None,
        "gaps": plots.plot_gaps(evidence.history),
        "histogram": plots.plot_histogram(rates, mean, name) if rates else None,
        "by_training": plots.plot_by_training(plotted, name, noun),
        "search": [*settings, *([ranks] if ranks else [])],
        "class_map": plots.plot_class_map(evidence.points),
        "reliability": plots.plot_reliability(calibration.bins, noun) if calibration else None,
        "risk": plots.plot_risk(calibration.curve, noun) if calibration else None,
    }


def _arrange_search(evidence: Evidence) -> dict[str, Any]:
    """Return the settings tried as a table, the best first."""
    trials, chosen = evidence.search, evidence.chosen
    names = list(dict.fromkeys(name for trial in trials for name, _ in trial.settings))
    ranked = sorted(trials, key=lambda trial: -1.0 if trial.top1 is None else trial.top1)[::-1]
    rows = [
        {
            "values": [dict(trial.settings).get(name) for name in names],
            "top1": trial.top1,
            "top5": trial.top5,
            "chosen": trial is chosen,
        }
        for trial in ranked
    ]
    return {
        "names": names,
        "rows": rows,
        "has_top5": any(trial.top5 is not None for trial in trials),
    }


def _pack_classes(evidence: Evidence) -> list[list[Any]]:
    """Return the class table for the script: name, train, n, percentages, taken for."""
    packed = []
    for item in evidence.classes:
        often = sorted(item.taken_for, key=lambda confusion: -confusion.count)[:MOST_TAKEN_FOR]
        taken_for = [[confusion.name, confusion.count] for confusion in often]
        rates = [getattr(item, name) for name in _list_columns(evidence)]
        shown = [None if rate is None else round(rate, 2) for rate in rates]
        packed.append([item.name, item.train, item.n, *shown, taken_for])
    return packed
