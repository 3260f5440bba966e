"""The ASGI application: routes, errors as sentences of JSON, and the security middleware."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from myriad.errors import InputError
from myriad.serving import inference_protocol, page, routes
from myriad.serving.feedback import Feedback
from myriad.serving.refusal import Refusal
from myriad.serving.safety import SecurityMiddleware
from myriad.serving.service import Service
from myriad.serving.uploads import Budget, Reader

BODIES = 8
"""Bodies of the largest size that may be in memory at a time."""


def make_app(service: Service) -> SecurityMiddleware:
    """Return the ASGI application that serves a model."""
    options = service.options
    app = FastAPI(
        title="myriad",
        summary="Classify images, or rows of features, with a linear model.",
        version="1",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        separate_input_output_schemas=False,
    )
    app.state.service = service
    app.state.reader = Reader(
        options.max_bytes, options.max_images, Budget(BODIES * options.max_bytes)
    )
    app.state.feedback = (
        None if options.feedback is None else Feedback(Path(options.feedback), options.max_feedback)
    )
    for part in (routes, inference_protocol, page):
        app.include_router(part.router)
    app.add_exception_handler(Refusal, _answer_refusal)
    app.add_exception_handler(InputError, _answer_input)
    app.add_exception_handler(RequestValidationError, _answer_validation)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer_failure)
    return SecurityMiddleware(app, options, service.metrics)


async def _answer_refusal(request: Request, error: Any) -> JSONResponse:
    return JSONResponse({"error": str(error)}, status_code=error.code, headers=error.headers)


async def _answer_input(request: Request, error: Any) -> JSONResponse:
    return await _answer_refusal(request, Refusal(422, str(error)))


async def _answer_validation(request: Request, error: Any) -> JSONResponse:
    found = error.errors()[0]
    name, reason = str(found["loc"][-1]), str(found["msg"])
    sentence = f"{name} is wrong: {reason[:1].lower()}{reason[1:]}."
    return await _answer_refusal(request, Refusal(422, sentence))


async def _answer_http(request: Request, error: Any) -> JSONResponse:
    sentences = {404: "Not found.", 405: "This method is not allowed here."}
    sentence = sentences.get(error.status_code, str(error.detail))
    return await _answer_refusal(request, Refusal(error.status_code, sentence))


async def _answer_failure(request: Request, error: Any) -> JSONResponse:
    return await _answer_refusal(request, Refusal(500, "The server failed on this request."))
