"""The outermost middleware of the server: access, time limits, security headers, errors.

Every request and every answer passes `SecurityMiddleware`: an answer has the security headers, an
error is one sentence of JSON, and no exception is raised further.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from hmac import compare_digest
from typing import Any
from urllib.parse import urlsplit

from myriad.serving.metrics import Metrics
from myriad.serving.options import ServeOptions
from myriad.serving.refusal import Refusal

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

PUBLIC = ("/", "/docs", "/healthz", "/v2/health/live", "/v2/health/ready", "/openapi.json")
"""Paths that need no key: they say nothing of the model. So do those below ``/assets/``."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self'; media-src 'self' blob:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(self), microphone=(), geolocation=()",
}


class SecurityMiddleware:
    """ASGI middleware that checks requests, limits their time and adds security headers.

    Parameters
    ----------
    metrics : counts every request.
    """

    def __init__(self, app: Any, options: ServeOptions, metrics: Metrics) -> None:
        self.application, self._options, self._metrics = app, options, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.application(scope, receive, send)
            return
        exchange = _Exchange(receive, send)
        began = time.perf_counter()
        try:
            self._check(scope)
            async with asyncio.timeout(self._options.timeout):
                await self.application(scope, exchange.receive, exchange.send)
        except Refusal as refusal:
            await exchange.refuse(refusal)
        except TimeoutError:
            await exchange.refuse(self._explain_timeout(exchange))
        except Exception as error:  # the application has answered it, if anyone still waits
            if not exchange.disconnected:
                report(error)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.record_request(route, exchange.status, time.perf_counter() - began)

    def _check(self, scope: Scope) -> None:
        """Raise `Refusal` unless host, origin and API key are allowed."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        allowed = self._options.allowed_hosts
        if allowed is not None and _name_of(host) not in allowed:
            raise Refusal(403, "Unknown host name: see the server option --allow-host.")
        origin = headers.get(b"origin")
        writes = scope["method"] not in ("GET", "HEAD")
        if writes and origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            # Cross-site request forgery: a page of another site must not send requests.
            raise Refusal(403, "Cross-origin requests are not allowed.")
        key, path = self._options.api_key, scope["path"]
        if key is None or path in PUBLIC or path.startswith("/assets/"):
            return
        given = headers.get(b"x-api-key")
        if given is None:
            given = headers.get(b"authorization", "").removeprefix("Bearer ")
        if not compare_digest(given.encode(), key.encode()):
            raise Refusal(
                401, "The header X-API-Key has no valid key.", {"WWW-Authenticate": "Bearer"}
            )

    def _explain_timeout(self, exchange: _Exchange) -> Refusal:
        seconds = self._options.timeout
        if exchange.complete:
            return Refusal(503, f"The answer took longer than {seconds:g} s.", {"Retry-After": "1"})
        return Refusal(408, f"The request did not arrive within {seconds:g} s.")


class _Exchange:
    """One request and its answer: what has arrived, and what has been sent."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self.status = 499  # the client left before an answer began
        self.complete = self.disconnected = self.started = False

    async def receive(self) -> Message:
        """Return the next message of the client."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.disconnected = True
        elif not message.get("more_body", False):
            self.complete = True
        return message

    async def send(self, message: Message) -> None:
        """Send a message of the application, with the security headers."""
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            known = {name.lower() for name, _ in message["headers"]}
            more = [
                (name.encode(), value.encode())
                for name, value in (HEADERS | {"cache-control": "no-store"}).items()
                if name.encode() not in known
            ]
            if message["status"] >= 400 and not self.complete:
                more.append((b"connection", b"close"))  # the rest of the body is not read
            message = {**message, "headers": [*message["headers"], *more]}
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with an error, unless an answer has started or the client has disconnected."""
        if self.started or self.disconnected:
            return
        body = json.dumps({"error": str(refusal)}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body))}
        headers |= {name.lower(): value for name, value in refusal.headers.items()}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": refusal.code, "headers": pairs})
        await self.send({"type": "http.response.body", "body": body})


def report(error: BaseException) -> None:
    """Print one line about an unexpected error; with ``MYRIAD_DEBUG=1`` where it was raised."""
    if os.environ.get("MYRIAD_DEBUG") == "1":
        traceback.print_exception(error)
    else:
        print(f"Unexpected error: {type(error).__name__}.", file=sys.stderr, flush=True)


def _name_of(host: str) -> str:
    """Return a host without its port; an IPv6 address without its brackets."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
