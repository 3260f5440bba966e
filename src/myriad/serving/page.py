"""The page to drop images on, its style and script, and the description of the API.

All files come from this package; the page asks no other server for anything.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment

from myriad.serving.refusal import Refusal

TYPES = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}

router = APIRouter(include_in_schema=False)


@cache
def read_asset(name: str) -> str:
    """Return the text of a file of the page."""
    return resources.files("myriad.serving").joinpath("assets", name).read_text(encoding="utf-8")


@router.get("/")
async def show_page() -> HTMLResponse:
    """Return the page."""
    return HTMLResponse(read_asset("page.html"))


@router.get("/assets/{name}")
async def show_asset(name: str) -> Response:
    """Return the style, the script or the icon of the page."""
    if name not in TYPES:
        raise Refusal(404, "Not found.")
    return Response(read_asset(name), media_type=TYPES[name], headers={"Cache-Control": "no-cache"})


@router.get("/docs")
async def show_docs(request: Request) -> HTMLResponse:
    """Return the description of the API as a page."""
    template = Environment(autoescape=True).from_string(read_asset("docs.html"))
    return HTMLResponse(template.render(operations=list_operations(request.app.openapi())))


def list_operations(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the operations of an OpenAPI schema for the page that lists them."""
    return [
        {
            "method": method.upper(),
            "path": path,
            "summary": operation.get("description", operation.get("summary", "")),
            "parameters": operation.get("parameters", []),
            "bodies": list(operation.get("requestBody", {}).get("content", {})),
        }
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
