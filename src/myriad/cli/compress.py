"""``myriad compress``: a store of plain rows to a store of codes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.shared_options import Cluster, Coding, read_coding
from myriad.cli.tables import print_facts, print_store
from myriad.cli.text import format_bytes, format_seconds
from myriad.cli.verb import verb
from myriad.codes.registry import code_name
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.stores.compress import Compressed


def show(compressed: Compressed, run: Run) -> None:
    """Print the code, its size and its error."""
    store, found = compressed.store, compressed.to_json()
    code = ", ".join(f"{name} {value}" for name, value in found["code"].items() if name != "kind")
    kind, error = code_name(found["code"]["kind"]), found["relative_error"]
    print_facts(
        {
            "Rows": store.n_rows,
            "Code": f"{kind}: {code}" if code else kind,
            "Bytes per row": store.bytes_per_row,
            "Ratio": compressed.code.ratio,
            "Error": "-" if error is None else f"{100 * error:.1f} %",
            "Size": format_bytes(store.n_rows * store.bytes_per_row),
            "Time": format_seconds(compressed.seconds),
        }
    )
    print_store(store)


@verb(show=show, writes=["out"], resumes=True, lists={"coding": read_coding})
def compress(
    store: Annotated[
        Path,
        typer.Argument(metavar="STORE", help="A store of plain rows.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="The store to write.", show_default=False)],
    *,
    coding: Coding,
    cluster: Cluster = None,
    run: Run,
) -> Compressed:
    """Compress the rows of a store, to save disk and memory.

    Example: myriad compress photos.store --out small.store --codes pq
    """
    from myriad.pipelines.stores.compress import compress as work

    return work(
        store,
        out,
        options=coding(),
        run=replace(run, cluster=cluster),
    )
