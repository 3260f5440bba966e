"""Shared by the benchmarks of the server: a server in its own process, and a small HTTP client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import cv2


@contextmanager
def start_server(model: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Yield the process of a server and its port; it is ended afterwards."""
    command = [
        sys.executable,
        "-m",
        "myriad.cli.main",
        "serve",
        str(model),
        "--port",
        "0",
        "--json",
    ]
    server = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stderr is not None
    line = server.stderr.readline()
    address = line.rpartition(" at ")[2].split()[0]
    try:
        yield server, urlsplit(address).port or 0
    finally:
        server.terminate()
        server.wait(60)


async def post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes, path: str = "/predict"
) -> tuple[int, Any]:
    """Send one request over an open connection; return the status and the content."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    return await read_answer(reader)


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, Any]:
    """Return the status and the content of an answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = int(head.split()[1])
    length = int(head.partition("content-length:")[2].split()[0])
    content = await reader.readexactly(length)
    return status, json.loads(content) if content else None


def make_photographs(source: Path, n: int) -> list[bytes]:
    """Return `n` JPEG files of 500 x 375 pixels, from the images of a folder."""
    files = sorted(path for path in source.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
    step = max(1, len(files) // n)
    photographs = []
    for path in files[::step][:n]:
        image = cv2.resize(cv2.imread(str(path)), (500, 375), interpolation=cv2.INTER_CUBIC)
        photographs.append(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes())
    return photographs


def private_bytes(pid: int) -> int:
    """Return the private memory of a process and its descendants."""
    total = 0
    waiting = [pid]
    while waiting:
        one = waiting.pop()
        try:
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
            children = Path(f"/proc/{one}/task/{one}/children").read_text()
        except OSError:
            continue
        total += 1024 * sum(
            int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_")
        )
        waiting += [int(child) for child in children.split()]
    return total
