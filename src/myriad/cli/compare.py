"""``myriad compare``: what different ways come to on the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.compared_codes import show_codes
from myriad.cli.tables import print_summary
from myriad.cli.verb import Run, verb
from myriad.errors import InputError

if TYPE_CHECKING:
    from myriad.pipelines.compare_codes import ComparedCodes

PAGE = "codes.html"


@dataclass(frozen=True)
class Result:
    """The lines of the comparison, and its page."""

    compared: ComparedCodes
    page: Path

    def to_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return self.compared.to_json() | {"report": str(self.page)}


def show(result: Result, run: Run) -> None:
    """Print the table and where the page is."""
    show_codes(result.compared, run)
    print_summary({"Report": result.page})


@verb(show=show, writes=True, resumes=True)
def compare(
    store: Annotated[
        Path, typer.Argument(metavar="STORE", help="A store of plain rows.", show_default=False)
    ],
    codes: Annotated[
        str | None,
        typer.Option(help="Compare codes: some of pq,bits,bilinear,scalar, or all."),
    ] = None,
    ratios: Annotated[
        str, typer.Option(help="Ratios to compare codes at, with commas.")
    ] = "32,64,128,256",
    out: Annotated[
        Path | None, typer.Option(help="The folder for results; by default STORE.compare.")
    ] = None,
    *,
    run: Run,
) -> Result:
    """Compare accuracy, size and time of different codes on a store."""
    from myriad.pipelines.compare_codes import compare_codes, parse_codes, parse_ratios
    from myriad.pipelines.outputs import beside_store, prepare_results
    from myriad.report.code_page import write_code_page
    from myriad.training import SGD

    if codes is None:
        raise InputError("Say what to compare: --codes all, or some of pq,bits,bilinear,scalar.")
    names, numbers = parse_codes(codes), parse_ratios(ratios)
    folder = out or beside_store(store, "compare")
    prepare_results(folder, (PAGE, "codes.json"), overwrite=run.overwrite, resume=run.resume)
    compared = compare_codes(
        store,
        folder,
        codes=names,
        ratios=numbers,
        method=SGD(seed=run.seed),
        threads=run.threads,
        resume=run.resume,
        progress=run.progress,
    )
    rows = compared.to_json()["rows"]
    write_code_page(rows, folder / PAGE, title=f"Codes of {store.name or store.resolve().name}")
    return Result(compared, folder / PAGE)
