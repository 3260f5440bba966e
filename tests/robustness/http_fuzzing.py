"""Fuzzing of the HTTP API without sockets: any request is answered, with an error if refused."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from math import inf
from pathlib import Path
from random import Random
from time import monotonic, process_time
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np

from tests.robustness.fuzzing import SLOW, Fuzzed
from tests.robustness.inputs import bad_images, picture
from tests.robustness.mutation import (
    LEAVES,
    WORDS,
    mutate_bytes,
    mutate_json,
    mutate_png,
    mutate_text,
)
from tests.robustness.mutation_fields import mutate_front, mutate_jpeg
from tests.robustness.mutation_tables import mutate_npy_arrays
from tests.robustness.reader_files import PICTURES, to_bytes
from tests.serving.calling import Client

METHODS = ("GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "x")
ADDRESSES = (
    "/", "/predict", "/explain", "/model", "/classes", "/picture", "/feedback", "/healthz", "/v2",
    "/metrics", "/openapi.json", "/docs", "/v2/health/ready", "/v2/models/NAME",
    "/v2/models/NAME/infer",
    "/v2/models/NAME/ready", "/page.js", "/..%2f..%2fetc/passwd", "/predict/", "//", "/%00",
    "/\u00e9",
)  # fmt: skip
NAMES = ("k", "coverage", "only", "label", "against", "q", "limit", "x")
TYPES = (
    "image/png", "image/jpeg", "application/json", "application/x-npy", "multipart/form-data",
    "multipart/form-data; boundary=x", "text/plain", "", "application/json; charset=utf-7",
    "a" * 300, "multipart/form-data; boundary=" + "x" * 200, "multipart/form-data; boundary=\xe9",
    "multipart/form-data; boundary=\"\"", "image/*", ";;;", "application/octet-stream",
)  # fmt: skip
HEADERS = (
    "x-api-key", "accept", "range", "host", "content-encoding", "transfer-encoding", "origin",
    "content-length", "expect", "cookie", "x-forwarded-for", "authorization", "te", "upgrade",
)  # fmt: skip
DISPOSITIONS = (
    'form-data; name="image"; filename="a.png"', "form-data; name=image; filename=a.png",
    'form-data; name="image"; filename="../../é\\".png"', 'form-data; name="label"', "form-data",
    "form-data; name=\"image\"; filename*=utf-8''%e2%82%ac.png", "", "attachment; filename=",
    'form-data; name="image"; filename="C:\\\\x\\\\y.png"', 'form-data; filename="' + "x" * 3000,
    "form-data; name*=x; filename*=''", "form-data; filename*=utf-9'x'%zz", "; ; =",
)  # fmt: skip
ROUTES = ("/predict", "/predict", "/explain", "/feedback", "/v2/models/NAME/infer")
"""Addresses that take a body, which most requests go to."""


def draw_request(draw: Random, dim: int, name: str, labels: list[str]) -> dict[str, Any]:
    """Return a request most of which is valid."""
    address = draw.choice(ROUTES if draw.randrange(3) else ADDRESSES)
    method = "POST" if address in ROUTES and draw.randrange(12) else draw.choice(METHODS)
    body, kind = draw_body(draw, dim, tensors=address.endswith("/infer"))
    known = ["1", "5", "0.9", name, ",".join(labels), *labels]
    query = [
        (draw.choice(NAMES), draw.choice([*known, *known, *map(str, LEAVES)])[:5000])
        for _ in range(draw.randrange(3))
    ]
    if address in ("/explain", "/feedback", "/picture") and draw.randrange(8):
        query.append(("label", draw.choice(labels)))
    address = address.replace("NAME", name)
    if draw.randrange(20) == 0:
        address += "/" + quote(draw.choice(WORDS)[:2000])
    headers = {"content-type": kind if draw.randrange(8) else draw.choice(TYPES)}
    if draw.randrange(8) == 0:
        headers[draw.choice(HEADERS)] = draw.choice(["x", "", "-1", "9" * 30, "gzip", "bytes=0-1"])
    if method in ("GET", "HEAD"):
        body = b""
    return {
        "method": method,
        "url": address,
        "params": [(key, value.encode("utf-8", "replace").decode()) for key, value in query],
        "headers": {key: value.encode("latin-1") for key, value in headers.items()},
        "content": in_pieces(body, draw.randrange(1, 2000)) if draw.randrange(6) == 0 else body,
    }


async def in_pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    """Yield a body a bit at a time, without stating its length."""
    for start in range(0, len(body), size):
        yield body[start : start + size]


def draw_body(draw: Random, dim: int, *, tensors: bool) -> tuple[bytes, str]:
    """Return a body, changed more often than not, and its type."""
    n = draw.choice([1, 2, 2, 3, 64, 65])
    rows = np.ones((n, dim), np.float32)
    if tensors or draw.randrange(12) == 0:
        kind, content, mutate = "application/json", draw_tensors(draw, rows), mutate_json
    else:
        seeds = [
            (draw_image(draw), "image/png", mutate_bytes),
            (json.dumps({"rows": rows.tolist()}).encode(), "application/json", mutate_json),
            (to_bytes(np.save, rows), "application/x-npy", mutate_npy_arrays),
            (draw_form(draw), "multipart/form-data; boundary=x", mutate_text),
            (bytes(draw.choice([0, 1, 999_999, 1_000_000, 1_000_001])), "image/png", mutate_front),
        ]
        content, kind, mutate = draw.choice(seeds)
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        content = mutate(content, draw)
    return content, kind


def draw_tensors(draw: Random, rows: np.ndarray) -> bytes:
    """Return a request of the Open Inference Protocol."""
    tensor: dict[str, Any] = {"name": "rows", "datatype": "FP32", "shape": list(rows.shape)}
    tensor["data"] = draw.choice([rows.ravel().tolist(), rows.tolist()])
    if draw.randrange(2):
        images = [b64encode(draw_image(draw)).decode() for _ in range(draw.randrange(1, 6))]
        tensor = {"name": "images", "datatype": "BYTES", "shape": [len(images)], "data": images}
    parameters = {"k": draw.choice([1, 2, 5, *LEAVES])}
    content = {"id": draw.choice(["a", *LEAVES]), "inputs": [tensor], "parameters": parameters}
    return json.dumps(content).encode()


def draw_image(draw: Random) -> bytes:
    """Return an image of any format, many of which are damaged."""
    plain = [picture(1, n) for n in range(3)]
    odd = [content for group in PICTURES.values() for content in group]
    bad = [content for content, _ in bad_images().values()]
    content = draw.choice([*plain, *odd, *odd, *bad, b"", b"x"])
    if draw.randrange(3):
        return content
    mutate = mutate_png if content.startswith(b"\x89PNG") else mutate_jpeg
    return mutate(content, draw)


def draw_form(draw: Random) -> bytes:
    """Return a form of some files and fields."""
    parts = []
    for _ in range(draw.choice([1, 1, 2, 4, 5, 20])):
        disposition = draw.choice([DISPOSITIONS[0], DISPOSITIONS[0], *DISPOSITIONS])
        head = f"Content-Disposition: {disposition}\r\n".encode()
        if draw.randrange(6) == 0:
            head += draw.choice(
                [b"a: b\r\n", b"x" * 5000 + b": y\r\n", b": \r\n", b"\xff: \xfe\r\n"]
            )
        parts.append(b"--x\r\n" + head + b"\r\n" + draw_image(draw) + b"\r\n")
    return b"".join(parts) + draw.choice([b"--x--\r\n"] * 6 + [b"", b"--x", b"--x--" + b"y" * 99])


def fuzz_http(
    model: Path, feedback: Path, *, seed: int, seconds: float = inf, requests: int = 10**9
) -> Fuzzed:
    """Send requests, for some seconds or a number of them, some at once; return the faults."""
    draw, result, started = Random(seed), Fuzzed(), process_time()
    with Client(model, feedback=str(feedback), max_images=4, max_megabytes=1.0) as client:
        folder = client.service.model.folder
        dim, labels = folder.model.dim, list(folder.class_names)
        ends = monotonic() + seconds
        while result.n < requests and monotonic() < ends:
            some = [
                draw_request(draw, dim, client.service.model.name, labels)
                for _ in range(draw.choice([1, 1, 2, 8]))
            ]
            began = process_time()  # a busy machine makes no request slow
            answers = client.run(_send(client._http, some))
            slow = process_time() - began > SLOW
            for request, answer in zip(some, answers, strict=True):
                if isinstance(answer, httpx.InvalidURL | UnicodeEncodeError | ValueError):
                    continue  # the client itself refuses to send it
                wrong = "slow" if slow else check_answer(answer)
                result.n += 1
                result.answers[answer_kind(answer)] += 1
                if wrong:
                    what = f"{request['method']} {request['url'][:60]}: {wrong}"
                    result.faults[what] = Path(repr(request)[:2000])
        if client.reader.budget.used:
            result.faults[f"{client.reader.budget.used} bytes were not released"] = Path()
    result.seconds = process_time() - started
    return result


async def _send(http: httpx.AsyncClient, requests: list[dict[str, Any]]) -> list[Any]:
    """Return the answers to requests that are under way at the same time, or their errors."""
    calls = (http.request(**request) for request in requests)
    return await asyncio.gather(*calls, return_exceptions=True)


def answer_kind(answer: Any) -> str:
    """Return the status of an answer and the start of its error."""
    if isinstance(answer, BaseException):
        return type(answer).__name__
    refused = answer.status_code >= 400 and answer.request.method != "HEAD"
    return f"{answer.status_code} {answer.text[:40] if refused else ''}"


def check_answer(answer: Any) -> str:
    """Return what is wrong with an answer."""
    if isinstance(answer, BaseException):
        return f"{type(answer).__name__}: {answer}"[:200]
    if answer.status_code >= 500 and answer.status_code not in (503, 507):
        return f"status {answer.status_code} {answer.text[:100]}"
    if answer.status_code >= 400 and answer.request.method != "HEAD":
        content = answer.json()
        if set(content) != {"error"} or not content["error"].endswith((".", "?")):
            return f"no sentence: {answer.text[:100]}"
    return ""
