"""Fuzzing of the HTTP API without sockets: any request is answered, with an error if refused."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np

from tests.robustness.fuzzing import SLOW, Fuzzed
from tests.robustness.inputs import picture
from tests.robustness.mutation import (
    LEAVES,
    WORDS,
    mutate_bytes,
    mutate_json,
    mutate_npy,
    mutate_png,
)
from tests.robustness.readers import to_bytes
from tests.serving.calling import Client

METHODS = ("GET", "POST", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH")
ADDRESSES = (
    "/", "/predict", "/explain", "/model", "/classes", "/picture", "/feedback", "/healthz", "/v2",
    "/metrics", "/openapi.json", "/docs", "/v2/health/ready", "/v2/models/m", "/v2/models/m/infer",
    "/v2/models/m/ready", "/page.js", "/..%2f..%2fetc/passwd", "/predict/", "//", "/%00", "/\u00e9",
)  # fmt: skip
NAMES = ("k", "coverage", "only", "label", "against", "q", "limit", "x")
TYPES = (
    "image/png", "image/jpeg", "application/json", "application/x-npy", "multipart/form-data",
    "multipart/form-data; boundary=x", "text/plain", "", "application/json; charset=utf-7",
    "a" * 300,
)  # fmt: skip


def draw_request(draw: Random, dim: int, name: str) -> dict[str, Any]:
    """Return a request most of which is valid."""
    address = draw.choice(ADDRESSES).replace("/m", f"/{name}", 1)
    if draw.randrange(20) == 0:
        address += "/" + quote(draw.choice(WORDS)[:2000])
    query = [
        (draw.choice(NAMES), draw.choice(["1", "5", "0.9", name, *map(str, LEAVES)])[:5000])
        for _ in range(draw.randrange(3))
    ]
    body, kind = draw_body(draw, dim)
    headers = {"content-type": kind if draw.randrange(5) else draw.choice(TYPES)}
    if draw.randrange(10) == 0:
        headers[draw.choice(["x-api-key", "accept", "range", "host", "content-encoding"])] = "x"
    method = draw.choice(METHODS)
    if method in ("GET", "HEAD"):
        body = b""
    return {
        "method": method,
        "url": address,
        "params": [(key, value.encode("utf-8", "replace").decode()) for key, value in query],
        "headers": headers,
        "content": body,
    }


def draw_body(draw: Random, dim: int) -> tuple[bytes, str]:
    """Return a body, changed more often than not, and its type."""
    rows = np.ones((2, dim), np.float32)
    tensors = {"inputs": [{"name": "rows", "datatype": "FP32", "shape": [2, dim]}]}
    tensors["inputs"][0]["data"] = rows.ravel().tolist()
    part = b'--x\r\nContent-Disposition: form-data; name="image"; filename="a.png"\r\n\r\n'
    seeds = [
        (picture(1, 1), "image/png", mutate_png),
        (json.dumps({"rows": rows.tolist()}).encode(), "application/json", mutate_json),
        (json.dumps(tensors).encode(), "application/json", mutate_json),
        (to_bytes(np.save, rows), "application/x-npy", mutate_npy),
        (part + picture(1, 1) + b"\r\n--x--\r\n", "multipart/form-data; boundary=x", mutate_bytes),
    ]
    content, kind, mutate = draw.choice(seeds)
    for _ in range(draw.randrange(3)):
        content = mutate(content, draw)
    return content, kind


def fuzz_http(
    model: Path, feedback: Path, *, seed: int, seconds: float = inf, requests: int = 10**9
) -> Fuzzed:
    """Send requests, for some seconds or a number of them; return the faults of the answers."""
    draw, result = Random(seed), Fuzzed()
    with Client(model, feedback=str(feedback), max_images=4, max_megabytes=1.0) as client:
        dim = client.service.model.folder.model.dim
        ends = monotonic() + seconds
        for _ in range(requests):
            if monotonic() > ends:
                break
            request = draw_request(draw, dim, client.service.model.name)
            began = monotonic()
            try:
                answer = client.run(client._http.request(**request))
                wrong = check_answer(answer)
            except (httpx.InvalidURL, UnicodeEncodeError, ValueError):
                continue  # the client itself refuses to send it
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"[:200]
            if not wrong and monotonic() - began > SLOW:
                wrong = "slow"
            result.n += 1
            if wrong:
                what = f"{request['method']} {request['url'][:60]}: {wrong}"
                result.faults[what] = Path(repr(request["content"][:100]))
    return result


def check_answer(answer: httpx.Response) -> str:
    """Return what is wrong with an answer."""
    if answer.status_code >= 500 and answer.status_code != 503:
        return f"status {answer.status_code} {answer.text[:100]}"
    if answer.status_code >= 400 and answer.request.method != "HEAD":
        content = answer.json()
        if set(content) != {"error"} or not content["error"].endswith("."):
            return f"no sentence: {answer.text[:100]}"
    return ""
