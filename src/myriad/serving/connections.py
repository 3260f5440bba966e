"""The HTTP connection of uvicorn, with a time limit for the headers of a request.

uvicorn closes idle connections, but waits without limit for the rest of headers that a client has
started to send; many such clients (slow loris) would use up all connections.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""Time that a client has for the headers of a request, and between two requests."""


class LimitedConnection(H11Protocol):
    """A connection that is closed if no complete request header arrives in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the clock."""
        super().connection_made(transport)
        self._start_clock()

    def handle_events(self) -> None:
        """Stop the clock once a request has started."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_clock()

    def on_response_complete(self) -> None:
        """Start the clock for the next request."""
        self._start_clock()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        self._stop_clock()
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
