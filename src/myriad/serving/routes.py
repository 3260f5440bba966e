"""The routes of the API: predictions, classes, feedback, health and metrics."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response

from myriad.errors import did_you_mean
from myriad.images import BadImage
from myriad.models.explanations import Contrast
from myriad.serving.metrics import CONTENT_TYPE
from myriad.serving.refusal import Refusal
from myriad.serving.served_model import MOST_FOUND, ServedModel
from myriad.serving.service import Service
from myriad.serving.uploads import Upload, Uploads
from myriad.signatures.explanations.heat_map import encode_heat_map

MOST_LABELS = 1000
"""Labels of an image in an answer, at most."""

router = APIRouter()

_IMAGE = {"schema": {"type": "string", "format": "binary"}}
_FILES = {
    "schema": {
        "type": "object",
        "properties": {"image": {"type": "array", "items": _IMAGE["schema"]}},
    }
}
_ROWS = {
    "schema": {
        "type": "object",
        "required": ["rows"],
        "properties": {
            "rows": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}}
        },
    }
}
IMAGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"image/*": _IMAGE, "multipart/form-data": _FILES},
    }
}
ANY_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "image/*": _IMAGE,
            "multipart/form-data": _FILES,
            "application/json": _ROWS,
            "application/x-npy": _IMAGE,
        },
    }
}
TopK = Annotated[int, Query(ge=1, le=MOST_LABELS, description="Number of labels per image.")]


def service_of(request: Request) -> Service:
    """Return the service of the application."""
    service: Service = request.app.state.service
    return service


@asynccontextmanager
async def received(request: Request) -> AsyncIterator[Uploads]:
    """Yield the content of a request; its bytes count as memory until the end of the context."""
    reader = request.app.state.reader
    body = await reader.read(request)
    try:
        yield reader.parse(request.headers.get("content-type", ""), body)
    finally:
        reader.budget.release(len(body))


@router.post("/predict", openapi_extra=ANY_BODY)
async def predict(
    request: Request,
    k: TopK = 5,
    coverage: Annotated[
        float | None,
        Query(gt=0, lt=1, description="Give sets of labels that have the right one so often."),
    ] = None,
    only: Annotated[
        list[str] | None,
        Query(description="Labels to choose from, separated by commas; may be repeated."),
    ] = None,
) -> dict[str, Any]:
    """Rank the labels of images, or of rows of features, best first."""
    began = time.perf_counter()
    service = service_of(request)
    model = service.model
    query = service.make_query(model, k, coverage=coverage, only=tuple(only or ()))
    bad: list[dict[str, str]] = []
    async with received(request) as uploads:
        if uploads.rows is not None:
            names = [f"rows:{i}" for i in range(len(uploads.rows))]
            rows = uploads.rows
        else:
            names, rows, bad = await describe_uploads(service, model, uploads.images)
        check_features(rows, model)
        answers = await service.predict(query, rows)
    predictions = [{"path": name} | answer for name, answer in zip(names, answers, strict=True)]
    seconds = round(time.perf_counter() - began, 4)
    return {"predictions": predictions, "bad": bad, "seconds": seconds}


async def describe_uploads(
    service: Service, model: ServedModel, uploads: list[Upload]
) -> tuple[list[str], np.ndarray, list[dict[str, str]]]:
    """Return the names and rows of the good images, and the bad ones with the reasons.

    Raises `Refusal` (422) if none can be read.
    """
    described = await service.describe(model, [upload.content for upload in uploads])
    pairs = list(zip(uploads, described, strict=True))
    good = [(upload.name, row) for upload, row in pairs if not isinstance(row, BadImage)]
    bad = [
        {"path": upload.name, "reason": row.reason}
        for upload, row in pairs
        if isinstance(row, BadImage)
    ]
    if not good:
        first = f"{bad[0]['path']} cannot be read: {bad[0]['reason']}."
        raise Refusal(422, first if len(bad) == 1 else f"No image can be read. The first: {first}")
    return [name for name, _ in good], np.stack([row for _, row in good]), bad


def check_features(rows: np.ndarray, model: ServedModel) -> None:
    """Raise `Refusal` (422) unless rows have the features that a model takes."""
    wanted = model.folder.model.dim
    if rows.shape[1] != wanted:
        raise Refusal(422, f"The rows have {rows.shape[1]} features, the model takes {wanted}.")


@router.post("/explain", openapi_extra=IMAGE_BODY)
async def explain(
    request: Request,
    label: Annotated[str, Query(description="The class to explain.")],
    against: Annotated[str | None, Query(description="A class to compare with.")] = None,
) -> dict[str, Any]:
    """Return which parts of an image support a class, as a transparent picture to lay over it."""
    service = service_of(request)
    model = service.model
    for name in filter(None, (label, against)):
        find_label(model, name)
    contrast = Contrast.of(model.folder, label, against or None)
    async with received(request) as uploads:
        if len(uploads.images) != 1:
            raise Refusal(400, "Send one image at a time.")
        heat = await service.map_heat(model, uploads.images[0].content, contrast.weights)
    if isinstance(heat, BadImage):
        raise Refusal(422, f"{uploads.images[0].name} cannot be read: {heat.reason}.")
    png = encode_heat_map(heat)
    address = "data:image/png;base64," + base64.b64encode(png).decode("ascii")
    return contrast.explain(heat).to_json() | {"heatmap": address}


@router.get("/model")
async def show_model(request: Request) -> dict[str, Any]:
    """Return the model, its limits and the features of this server."""
    feedback = request.app.state.feedback is not None
    options = service_of(request).options
    limits = {"max_images": options.max_images, "max_bytes": options.max_bytes}
    return service_of(request).model.describe() | limits | {"feedback": feedback}


@router.get("/classes")
async def find_classes(
    request: Request,
    q: Annotated[str, Query(max_length=200, description="Part of a name.")] = "",
    limit: Annotated[int, Query(ge=1, le=MOST_FOUND)] = 20,
) -> dict[str, Any]:
    """Search the classes of the model by a part of their names."""
    model = service_of(request).model
    found = model.search(q, limit)
    return {
        "total": len(model.class_names),
        "classes": [{"label": model.class_names[c], "number": c} for c in found],
    }


@router.get(
    "/picture",
    response_class=Response,
    responses={200: {"content": {"image/jpeg": {}}}},
)
async def show_picture(
    request: Request, label: Annotated[str, Query(description="Name of a class.")]
) -> Response:
    """Return a training picture of a class, as a small JPEG file; status 204 if there is none."""
    model = service_of(request).model
    number = find_label(model, label)
    picture = None if model.pictures is None else model.pictures.read(number)
    if picture is None:
        return Response(status_code=204)
    return Response(picture, media_type="image/jpeg", headers={"Cache-Control": "max-age=60"})


def find_label(model: ServedModel, label: str) -> int:
    """Return the number of a class by its name; raises `Refusal` (422) for an unknown one."""
    if label not in model.numbers:
        hint = did_you_mean(label, model.numbers)
        raise Refusal(422, f"The model has no class {label!r}.{hint}")
    return model.numbers[label]


@router.post("/feedback", openapi_extra=IMAGE_BODY)
async def keep_feedback(
    request: Request, label: Annotated[str, Query(description="The right label.")]
) -> dict[str, Any]:
    """Keep an image with its right label for the next training."""
    service = service_of(request)
    feedback = request.app.state.feedback
    if feedback is None:
        raise Refusal(403, "This server does not collect feedback: see its option --feedback.")
    model = service.model
    find_label(model, label)
    async with received(request) as uploads:
        if len(uploads.images) != 1:
            raise Refusal(400, "Send one image at a time.")
        await describe_uploads(service, model, uploads.images)  # a bad image is not kept
        await asyncio.to_thread(feedback.keep, uploads.images[0].content, label)
    service.metrics.count("feedback")
    return {"kept": len(feedback)}


@router.get("/healthz")
async def show_health(request: Request) -> dict[str, str]:
    """Respond that the server is alive."""
    return {"status": "ok"}


@router.get("/metrics", response_class=PlainTextResponse)
async def show_metrics(request: Request) -> PlainTextResponse:
    """Return counts and latencies in the text format of Prometheus."""
    service = service_of(request)
    text = service.metrics.render(
        queue=service.pending,
        checksum=service.model.checksum,
        n_classes=len(service.model.class_names),
    )
    return PlainTextResponse(text, media_type=CONTENT_TYPE)
