"""``myriad compare --codes``: a table of codes, and a page with the plot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from myriad.cli.choices import split_list
from myriad.cli.tables import print_summary, print_table
from myriad.cli.text import format_seconds
from myriad.cli.verb import Run
from myriad.codes.registry import code_name

if TYPE_CHECKING:
    from myriad.pipelines.compare_codes import ComparedCodes

COLUMNS = (
    "Codes",
    "Ratio",
    "Bytes a row",
    "Top-1",
    "Top-5",
    "Mean over classes",
    "Coding",
    "Training",
    "Predicting",
)


PAGE = "codes.html"


@dataclass(frozen=True)
class CodesResult:
    """The comparison and its report."""

    compared: ComparedCodes
    page: Path

    def to_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return self.compared.to_json() | {"report": str(self.page)}


def compare_all_codes(
    store: Path,
    out: Path,
    codes: str,
    ratios: str,
    objectives: str | None,
    epochs: int | None,
    cluster: str | None,
    run: Run,
) -> CodesResult:
    """Compare the codes that a text names on a store, with one objective, and write the page."""
    from myriad.errors import InputError
    from myriad.pipelines.compare import make_methods
    from myriad.pipelines.compare_codes import compare_codes, parse_codes, parse_ratios
    from myriad.pipelines.outputs import prepare_results
    from myriad.report.studies import write_code_page

    names, numbers = parse_codes(codes), parse_ratios(ratios)
    methods = make_methods(split_list(objectives or "ovr"), epochs=epochs, seed=run.seed)
    if len(methods) > 1:
        raise InputError("Codes are compared with one objective: name one as --objectives.")
    prepare_results(out, (PAGE, "codes.json"), overwrite=run.overwrite, resume=run.resume)
    compared = compare_codes(
        store,
        out,
        codes=names,
        ratios=numbers,
        method=next(iter(methods.values())),
        threads=run.threads,
        cluster=cluster,
        resume=run.resume,
        progress=run.progress,
    )
    rows = compared.to_json()["rows"]
    write_code_page(rows, out / PAGE, title=f"Codes of {store.name or store.resolve().name}")
    return CodesResult(compared, out / PAGE)


def show_codes(result: CodesResult, run: Run) -> None:
    """Print a line for each code: size, accuracies in percent, and times."""
    compared = result.compared
    first = compared.rows[0]
    print_table(
        COLUMNS,
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
        right=COLUMNS[-3:],
    )
    print_summary({"Report": result.page})
