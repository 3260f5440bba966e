"""``myriad compress``: a store of plain rows to a store of codes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.choices import Cluster, Ratio
from myriad.cli.tables import print_facts, print_summary
from myriad.cli.text import format_bytes, format_seconds
from myriad.cli.verb import Run, verb

if TYPE_CHECKING:
    from myriad.pipelines.compress import Compressed


def show(compressed: Compressed, run: Run) -> None:
    """Print the code, its size and its error."""
    store, found = compressed.store, compressed.to_json()
    code = ", ".join(f"{name} {value}" for name, value in found["code"].items() if name != "kind")
    print_facts(
        {
            "Rows": store.n_rows,
            "Code": f"{found['code']['kind']}: {code}" if code else found["code"]["kind"],
            "Bytes a row": store.bytes_per_row,
            "Ratio": compressed.code.ratio,
            "Error": "-" if found["error"] is None else f"{100 * found['error']:.1f} %",
            "Size": format_bytes(store.n_rows * store.bytes_per_row),
            "Time": format_seconds(compressed.seconds),
        }
    )
    model = store.path.resolve().with_suffix(".model").name
    print_summary({"Store": store.path}, [("myriad", "train", store.path, "--out", model)])


@verb(show=show, writes=True, resumes=True)
def compress(
    store: Annotated[
        Path,
        typer.Argument(metavar="STORE", help="A store of plain rows.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The store to write.", show_default=False)],
    codes: Annotated[
        str,
        typer.Option(
            help="How rows are coded: pq, bits, turned, bilinear or scalar; none keeps float32."
        ),
    ] = "pq",
    ratio: Ratio = None,
    keep: Annotated[
        float | None,
        typer.Option(help="The part of the features to keep, not of pq, bilinear and scalar."),
    ] = None,
    rotation: Annotated[
        str, typer.Option(help="How rows are turned before pq: none, random or opq.")
    ] = "none",
    bins: Annotated[
        int | None,
        typer.Option(
            help="Bins to measure information with: 2, 4, 8, 16 or 32.", show_default="the sign"
        ),
    ] = None,
    random: Annotated[
        bool, typer.Option("--random", help="Leave the projections of bilinear random.")
    ] = False,
    cluster: Cluster = None,
    *,
    run: Run,
) -> Compressed:
    """Code the rows of a store, to take less disk and memory."""
    from myriad.pipelines.coding import CodeOptions
    from myriad.pipelines.compress import compress as work

    return work(
        store,
        out,
        options=CodeOptions(codes, ratio, keep, rotation, bins, random),
        seed=run.seed,
        threads=run.threads,
        cluster=cluster,
        overwrite=run.overwrite,
        resume=run.resume,
        progress=run.progress,
    )
