"""``myriad serve``: a model behind HTTP, with a page to drop images on."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from myriad.cli.shared_options import ModelArgument, list_options
from myriad.cli.tables import print_facts
from myriad.cli.verb import verb
from myriad.options import options_of
from myriad.pipelines.run import Run
from myriad.serving.options import ServeOptions

if TYPE_CHECKING:
    from myriad.serving import Served

KEY_VARIABLE = "MYRIAD_API_KEY"


def read_options(given: dict[str, Any]) -> ServeOptions:
    """Return the options of the server; the key may come from the environment."""
    key = given["api_key"] or os.environ.get(KEY_VARIABLE) or None
    return ServeOptions(**given | {"api_key": key})


def show(served: Served, run: Run) -> None:
    """Print what the server did."""
    print_facts({"Requests": served.requests})


@verb(
    show=show,
    lists={"serving": list_options("read_serving", options_of(ServeOptions), read_options)},
)
def serve(model: ModelArgument, *, serving: Callable[[], ServeOptions], run: Run) -> Served:
    """Serve a model over HTTP: a JSON API, and a page to drop images on.

    Example: myriad serve birds
    """
    from myriad.serving import serve as work

    def announce(address: str) -> None:
        run.progress.note(f"Serving {model} at {address} (Ctrl-C to stop).")

    return work(model, serving(), threads=run.threads, progress=run.progress, on_start=announce)
