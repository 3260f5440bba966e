"""The Open Inference Protocol, version 2: health, metadata and inference by tensors of JSON.

An input is ``rows``, FP32 of shape (n, features), or ``images``, BYTES of shape (n) in base64. The
outputs are ``labels``, BYTES of shape (n, k), ``scores``, FP32 of the same shape, and
``probabilities`` if the model is calibrated.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from myriad.serving.refusal import Refusal
from myriad.serving.routes import MOST_LABELS, check_features, describe_uploads, service_of
from myriad.serving.served_model import ServedModel
from myriad.serving.uploads import ROWS_PER_IMAGE, Upload, as_float_rows, read_json_body
from myriad.version import __version__

router = APIRouter(prefix="/v2", tags=["Open Inference Protocol"])

K = 5
"""Labels of an image, unless the parameter ``k`` says otherwise."""


@router.get("/health/live")
async def show_live() -> dict[str, bool]:
    """Respond that the server is alive."""
    return {"live": True}


@router.get("/health/ready")
async def show_ready(request: Request) -> JSONResponse:
    """Respond whether the server is ready for requests."""
    ready = service_of(request).ready
    return JSONResponse({"ready": ready}, status_code=200 if ready else 503)


@router.get("")
async def show_server() -> dict[str, Any]:
    """Name the server and the extensions of the protocol that it has."""
    return {"name": "myriad", "version": __version__, "extensions": []}


@router.get("/models/{name}")
async def show_metadata(request: Request, name: str) -> dict[str, Any]:
    """Describe the inputs and outputs of the model."""
    model = _find_model(request, name)
    inputs = [{"name": "rows", "datatype": "FP32", "shape": [-1, model.folder.model.dim]}]
    if model.signature is not None:
        inputs.insert(0, {"name": "images", "datatype": "BYTES", "shape": [-1]})
    outputs = {"labels": "BYTES", "scores": "FP32"}
    if model.find_decider().is_calibrated:
        outputs["probabilities"] = "FP32"
    return {
        "name": model.name,
        "versions": [model.checksum[:12]],
        "platform": "myriad",
        "inputs": inputs,
        "outputs": [
            {"name": name, "datatype": kind, "shape": [-1, -1]} for name, kind in outputs.items()
        ],
    }


@router.get("/models/{name}/ready")
async def show_model_ready(request: Request, name: str) -> dict[str, Any]:
    """Respond that the model is ready for requests."""
    return {"name": _find_model(request, name).name, "ready": service_of(request).ready}


@router.post("/models/{name}/infer")
async def infer(request: Request, name: str) -> dict[str, Any]:
    """Rank the labels of rows or images that are given as tensors."""
    service = service_of(request)
    model = _find_model(request, name)
    reader = request.app.state.reader
    body = await reader.read(request)
    try:
        content = read_json_body(body)
        tensor = _find_input(content)
        query, identity = service.make_query(model, _read_k(content)), _read_id(content)
        if tensor["name"] == "images":
            uploads = _read_images(tensor, reader.max_images)
            _, rows, bad = await describe_uploads(service, model, uploads)
            if bad:
                raise Refusal(422, f"{bad[0]['path']} cannot be read: {bad[0]['reason']}.")
        else:
            rows = _read_rows(tensor, ROWS_PER_IMAGE * reader.max_images)
        check_features(rows, model)
        answers = await service.predict(query, rows)
    finally:
        reader.budget.release(len(body))
    answer = {
        "model_name": model.name,
        "model_version": model.checksum[:12],
        "outputs": make_outputs([answer["labels"] for answer in answers]),
    }
    return answer | ({} if identity is None else {"id": identity})


def make_outputs(ranked: list[Any]) -> list[dict[str, Any]]:
    """Return ranked labels as tensors."""
    shape = [len(ranked), len(ranked[0])]
    entries = [entry for labels in ranked for entry in labels]
    tensors = [("labels", "BYTES", "label"), ("scores", "FP32", "score")]
    if all("probability" in entry for entry in entries):
        tensors.append(("probabilities", "FP32", "probability"))
    return [
        {"name": name, "datatype": kind, "shape": shape, "data": [entry[key] for entry in entries]}
        for name, kind, key in tensors
    ]


def _find_model(request: Request, name: str) -> ServedModel:
    model = service_of(request).model
    if name != model.name:
        raise Refusal(404, "This server has no model of that name.")
    return model


def _find_input(content: Any) -> dict[str, Any]:
    inputs = content.get("inputs") if isinstance(content, dict) else None
    if not isinstance(inputs, list) or len(inputs) != 1 or not isinstance(inputs[0], dict):
        raise Refusal(400, "The request needs a list inputs with one tensor.")
    tensor: dict[str, Any] = inputs[0]
    if tensor.get("name") not in ("rows", "images") or not isinstance(tensor.get("data"), list):
        raise Refusal(400, "The input must be rows (FP32) or images (BYTES), with its data.")
    return tensor


def _read_k(content: dict[str, Any]) -> int:
    given = content.get("parameters")
    k = given.get("k", K) if isinstance(given, dict) else K
    if type(k) is not int or not 1 <= k <= MOST_LABELS:
        raise Refusal(422, f"The parameter k is a whole number from 1 to {MOST_LABELS}.")
    return k


def _read_id(content: dict[str, Any]) -> str | None:
    """Return the identifier of a request, which its answer repeats; None if it has none."""
    identity = content.get("id")
    if not isinstance(identity, str):
        return None
    try:
        identity.encode()
    except UnicodeEncodeError:  # half of a character, which cannot be sent back
        raise Refusal(400, "The id of a request must be valid text.") from None
    return identity


def _read_rows(tensor: dict[str, Any], most: int) -> np.ndarray:
    shape = tensor.get("shape")
    whole = isinstance(shape, list) and all(type(n) is int and n > 0 for n in shape)
    if not whole or len(shape or []) != 2 or tensor.get("datatype") not in ("FP32", "FP64"):
        raise Refusal(400, "The tensor rows has the datatype FP32 and a shape of two numbers.")
    assert isinstance(shape, list)
    if shape[0] > most:
        raise Refusal(413, f"A request may have {most} rows at most, not {shape[0]}.")
    rows = as_float_rows(tensor["data"])
    if rows.size != shape[0] * shape[1]:
        raise Refusal(400, "The data of the tensor rows do not fit its shape.")
    return rows.reshape(shape)


def _read_images(tensor: dict[str, Any], most: int) -> list[Upload]:
    data = tensor["data"]
    if tensor.get("datatype") != "BYTES" or not data:
        raise Refusal(400, "The tensor images has the datatype BYTES and at least one image.")
    if len(data) > most:
        raise Refusal(413, f"A request may have {most} images at most, not {len(data)}.")
    uploads = []
    for i, text in enumerate(data):
        try:
            content = base64.b64decode(text, validate=True)
        except (TypeError, ValueError, binascii.Error):
            raise Refusal(400, "The data of the tensor images must be base64.") from None
        uploads.append(Upload(f"image {i + 1}", content))
    return uploads
