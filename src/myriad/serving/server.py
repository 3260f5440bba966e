"""``serve``: bind the address, load the model, answer until a signal, finish what has started."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from myriad.errors import InputError
from myriad.locks import locked
from myriad.progress import SILENT, Progress
from myriad.serving.options import ServeOptions

INSTALL = 'pip install "myriad-learn[serve]".'


@dataclass(frozen=True)
class Served:
    """Address and number of requests of a server that was stopped."""

    address: str
    requests: int

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``serve`` prints."""
        return {"address": self.address, "requests": self.requests}


def serve(
    model: Path,
    options: ServeOptions | None = None,
    *,
    threads: int | None = None,
    progress: Progress = SILENT,
    on_start: Callable[[str], None] | None = None,
) -> Served:
    """Serve a model until SIGINT or SIGTERM; requests that have started are finished.

    Parameters
    ----------
    threads : worker processes for images; by default one for each core.
    on_start : called with the address once requests are answered.
    """
    options = options or ServeOptions()
    _import_server()
    feedback = None if options.feedback is None else Path(options.feedback)
    with (
        contextlib.closing(bind(options.host, options.port)) as listening,
        locked(feedback, progress=progress),
    ):
        return asyncio.run(_serve(model, options, listening, threads, progress, on_start))


def _import_server() -> None:
    """Raise `InputError` unless the packages of the server are installed."""
    try:
        import fastapi  # noqa: F401
        import python_multipart  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise InputError(f"The server needs the package {error.name}: {INSTALL}") from None


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; raises `InputError` if that is not possible."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InputError(f"--host {host} is not an address of a machine.") from None
    family, kind, protocol, _, address = addresses[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"Port {port} of {host} is in use: choose another one with --port."
            ) from None
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"The server cannot listen on {host}, port {port}: {reason}.") from None
    return listening


async def _serve(
    model: Path,
    options: ServeOptions,
    listening: socket.socket,
    threads: int | None,
    progress: Progress,
    on_start: Callable[[str], None] | None,
) -> Served:
    import uvicorn

    from myriad.serving.app import make_app
    from myriad.serving.connections import LimitedConnection
    from myriad.serving.service import open_service

    class Server(uvicorn.Server):
        """Ends with status 0 after a signal; uvicorn's own would send the signal once more."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            numbers = (signal.SIGINT, signal.SIGTERM)
            before = {number: signal.signal(number, self.handle_exit) for number in numbers}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    async with open_service(model, options, threads=threads, progress=progress) as service:
        config = uvicorn.Config(
            make_app(service),
            http=LimitedConnection,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            limit_concurrency=options.connections,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=max(1, int(options.timeout)),
            h11_max_incomplete_event_size=32 * 1024,
        )
        server = Server(config)
        host, port = listening.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        announced = asyncio.create_task(_announce(server, address, on_start))
        await server.serve(sockets=[listening])
        announced.cancel()
        return Served(address, service.metrics.n_requests)


async def _announce(server: Any, address: str, on_start: Callable[[str], None] | None) -> None:
    """Call `on_start` once the server accepts connections."""
    while not server.started:
        await asyncio.sleep(0.01)
    if on_start is not None:
        on_start(address)
