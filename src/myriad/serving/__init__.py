"""A trained model behind HTTP: an API, and a page to drop images on; see `serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from myriad.lazy import import_on_use

if TYPE_CHECKING:
    from myriad.serving.options import ServeOptions
    from myriad.serving.server import Served, serve

__all__ = ["ServeOptions", "Served", "serve"]

__getattr__ = import_on_use(
    __name__,
    {
        "ServeOptions": "myriad.serving.options",
        "Served": "myriad.serving.server",
        "serve": "myriad.serving.server",
    },
)
