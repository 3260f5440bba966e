"""``myriad compare``: all objectives on the same rows, or all codes, in one table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.methods import Epochs
from myriad.cli.shared_options import (
    Cluster,
    DataArgument,
    Extraction,
    StudyStore,
    read_extraction,
    split_list,
)
from myriad.cli.tables import name_rows, print_summary, print_table
from myriad.cli.text import format_seconds, format_settings
from myriad.cli.verb import verb
from myriad.codes.registry import CODES, code_name
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.training.compare import Candidate, Compared
    from myriad.pipelines.training.compare_codes import ComparedCodes

ACCURACIES = {
    "Top-1": "top1",
    "Top-5": "top5",
    "Top-1 by class": "class_top1",
    "Top-5 by class": "class_top5",
}
"""Columns over samples, and as the mean over classes."""
CODES_COLUMNS = (
    "Codes",
    "Ratio",
    "Bytes per row",
    "Top-1",
    "Top-5",
    "Mean over classes",
    "Coding",
    "Training",
    "Predicting",
)


CODES_PAGE = "codes.html"


@dataclass(frozen=True)
class Result:
    """A comparison and its page."""

    compared: Compared
    page: Path

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``--json``."""
        return self.compared.to_json() | {"report": str(self.page)}


def show(result: Result | CodesResult, run: Run) -> None:
    """Print the table, the best first, and what to do next."""
    if isinstance(result, CodesResult):
        return show_codes(result, run)
    compared = result.compared
    candidates = compared.candidates
    _print_split(compared, "val", [c.validation for c in candidates], details=True)
    if any(candidate.test is not None for candidate in candidates):
        print()
        _print_split(compared, "test", [c.test or {} for c in candidates], details=False)
    best = compared.best
    commands = [] if best is None else [("myriad", "evaluate", best.model, "DATA")]
    print_summary({"Report": result.page, "Rows": compared.store.path}, commands)


def _print_split(
    compared: Compared, split: str, found: list[dict[str, Any]], *, details: bool
) -> None:
    """Print the accuracies in percent on one split; with `details`, also time and settings."""
    candidates = compared.candidates
    n = int(max((accuracies.get("n") or 0 for accuracies in found), default=0))
    columns = ["Objective", *ACCURACIES]
    columns += ["Training", "Epochs", "Settings"] if details else []
    lines = []
    for candidate, accuracies in zip(candidates, found, strict=True):
        line: list[Any] = [candidate.objective, *(accuracies.get(k) for k in ACCURACIES.values())]
        if details:
            seconds = None if candidate.seconds is None else format_seconds(candidate.seconds)
            line += [seconds, candidate.epochs or None, _describe(candidate)]
        lines.append(line)
    rows = f"{n:,} {name_rows(split, compared.store.noun)}"
    title = f"Accuracy in % on {rows}, over samples and as the mean over classes"
    print_table(columns, lines, title=title, right=("Training",))


def _describe(candidate: Candidate) -> str:
    if candidate.error is not None:
        return f"failed: {candidate.error}"
    return format_settings(candidate.settings)


@verb(show=show, writes=["out"], resumes=True, lists={"extracting": read_extraction}, locks=["out"])
def compare(
    data: DataArgument,
    out: Annotated[
        Path, typer.Option(help="The folder to write the models, the table and the report to.")
    ] = Path("myriad-compare"),
    objectives: Annotated[
        str | None,
        typer.Option(
            help="Objectives to compare, separated by commas; topk:5 is topk with k = 5.",
            show_default="all",
        ),
    ] = None,
    epochs: Epochs = None,
    store: StudyStore = None,
    codes: Annotated[
        str | None,
        typer.Option(
            help=f"Code of the rows of images: {', '.join(CODES)}. For a store: codes to "
            "compare instead of objectives, separated by commas, or all.",
            show_default="pq",
        ),
    ] = None,
    ratios: Annotated[
        str, typer.Option(help="Compression ratios to compare codes at, separated by commas.")
    ] = "32,64,128,256",
    cluster: Cluster = None,
    *,
    extracting: Extraction,
    run: Run,
) -> Result | CodesResult:
    """Compare all objectives on the same rows, or all codes on the same store.

    Example: myriad compare photos.store --out compared
    """
    from myriad.store import is_store

    run = replace(run, cluster=cluster)
    if codes is not None and (is_store(data) or codes == "all" or "," in codes):
        return compare_all_codes(data, out, codes, ratios, objectives, epochs, run)
    from myriad.pipelines.training.compare import PAGE
    from myriad.pipelines.training.compare import compare as work
    from myriad.report.studies import write_comparison

    compared = work(
        data,
        out,
        objectives=split_list(objectives),
        epochs=epochs,
        store=store,
        extracting=extracting(codes=codes or "pq"),
        run=run,
    )
    write_comparison(compared.to_json(), out / PAGE)
    return Result(compared, out / PAGE)


@dataclass(frozen=True)
class CodesResult:
    """The comparison and its report."""

    compared: ComparedCodes
    page: Path

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of ``--json``."""
        return self.compared.to_json() | {"report": str(self.page)}


def compare_all_codes(
    store: Path,
    out: Path,
    codes: str,
    ratios: str,
    objectives: str | None,
    epochs: int | None,
    run: Run,
) -> CodesResult:
    """Compare the codes that a text names on a store, with one objective, and write the page."""
    from myriad.errors import InputError
    from myriad.pipelines.outputs import prepare_results
    from myriad.pipelines.training.compare import make_methods
    from myriad.pipelines.training.compare_codes import compare_codes, parse_codes, parse_ratios
    from myriad.report.studies import write_code_page

    names, numbers = parse_codes(codes), parse_ratios(ratios)
    methods = make_methods(split_list(objectives or "ovr"), epochs=epochs, seed=run.seed)
    if len(methods) > 1:
        raise InputError("Codes are compared with one objective: name one as --objectives.")
    prepare_results(out, (CODES_PAGE, "codes.json"), overwrite=run.overwrite, resume=run.resume)
    compared = compare_codes(
        store,
        out,
        codes=names,
        ratios=numbers,
        method=next(iter(methods.values())),
        run=run,
    )
    rows = compared.to_json()["rows"]
    write_code_page(rows, out / CODES_PAGE, title=f"Codes of {store.name or store.resolve().name}")
    return CodesResult(compared, out / CODES_PAGE)


def show_codes(result: CodesResult, run: Run) -> None:
    """Print a line for each code: size, accuracies in percent, and times."""
    compared = result.compared
    first = compared.rows[0]
    print_table(
        CODES_COLUMNS,
        [
            [
                "plain" if row.codes == "none" else code_name(row.codes),
                row.ratio,
                row.bytes_per_row,
                row.top1,
                row.top5,
                row.class_top1,
                format_seconds(row.seconds_coding),
                format_seconds(row.seconds_training),
                format_seconds(row.seconds_predicting),
            ]
            for row in compared.rows
        ],
        title=f"Accuracy in % on {first.n:,} {first.split} rows",
        right=CODES_COLUMNS[-3:],
    )
    print_summary({"Report": result.page})
