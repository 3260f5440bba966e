"""A server among clients that misbehave: every good request is answered right, nothing leaks.

python benchmarks/serving_chaos.py MODEL IMAGES --minutes 10 --out results/serving_chaos.json

Two good clients compare every answer with that of ``predict``. Meanwhile others stop half way, send
garbage, truncated and huge images, wrong lengths or one byte at a time, and 200 connections are
held open.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from record import describe_run, write_results
from serving_client import make_photographs, post, private_bytes, start_server

from myriad.images import read_image
from myriad.models import Decider, load_model

HELD = 200
HEAD = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: image/jpeg\r\n"


class Chaos:
    """The clients, and what they saw."""

    def __init__(self, port: int, photographs: list[bytes], expected: list[str]) -> None:
        self.port, self.photographs, self.expected = port, photographs, expected
        self.good = self.busy = self.wrong = self.bad = 0
        self.random = random.Random(0)
        big = np.zeros((9000, 9000), np.uint8)
        self.huge = cv2.imencode(".png", big)[1].tobytes()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a new connection."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def behave(self) -> None:
        """Send good images and compare the answers."""
        reader, writer = await self.connect()
        for i in itertools.cycle(range(len(self.photographs))):
            status, answer = await post(reader, writer, self.photographs[i])
            if status == 503:
                self.busy += 1
                await asyncio.sleep(0.5)
            elif status == 200:
                label = answer["predictions"][0]["labels"][0]["label"]
                self.good += label == self.expected[i]
                self.wrong += label != self.expected[i]
            else:
                self.wrong += 1

    async def misbehave(self) -> None:
        """Do one bad thing after another."""
        deeds = [self.stop_half_way, self.send_garbage, self.send_bad_image, self.lie, self.dribble]
        while True:
            try:
                async with asyncio.timeout(60):
                    await self.random.choice(deeds)()
            except (OSError, EOFError, TimeoutError, ValueError, IndexError):
                pass  # the server has closed the connection, as it should
            self.bad += 1
            await asyncio.sleep(0.05)

    async def send(self, *chunks: bytes, pause: float = 0.0, read: bool = True) -> None:
        """Send bytes on a new connection, and read whatever comes."""
        reader, writer = await self.connect()
        try:
            for chunk in chunks:
                writer.write(chunk)
                await writer.drain()
                await asyncio.sleep(pause)
            if read:
                await asyncio.wait_for(reader.read(65536), 5)
        finally:
            writer.close()

    async def stop_half_way(self) -> None:
        """Leave in the middle of a body."""
        image = self.random.choice(self.photographs)
        head = HEAD + f"Content-Length: {len(image)}\r\n\r\n".encode()
        await self.send(head + image[: len(image) // 2], read=False)

    async def send_garbage(self) -> None:
        """Send what is not HTTP."""
        await self.send(self.random.randbytes(2000))

    async def send_bad_image(self) -> None:
        """Send truncated, huge and meaningless images."""
        image = self.random.choice(self.photographs)
        spoiled = bytearray(image)
        for _ in range(20):
            spoiled[self.random.randrange(len(spoiled))] = self.random.randrange(256)
        body = self.random.choice([image[:-500], b"no image", bytes(spoiled), self.huge, b""])
        await self.send(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)

    async def lie(self) -> None:
        """State a wrong length."""
        length = self.random.choice([b"-1", b"abc", b"999999999999", b"10"])
        await self.send(HEAD + b"Content-Length: " + length + b"\r\n\r\n" + bytes(5000))

    async def dribble(self) -> None:
        """Send one byte at a time (slow loris)."""
        head = HEAD + b"Content-Length: 1000\r\n\r\n"
        await self.send(*(head[i : i + 1] for i in range(len(head))), pause=0.3)

    async def hold(self) -> None:
        """Keep a connection open, and open it again when the server closes it."""
        while True:
            try:
                reader, writer = await self.connect()
                writer.write(b"GET /healthz HT")
                await reader.read()
                writer.close()
            except OSError:
                await asyncio.sleep(1)


async def run(chaos: Chaos, pid: int, seconds: float) -> list[tuple[float, int]]:
    """Let all clients run; return the private memory of the server over time."""
    clients = [chaos.behave() for _ in range(2)] + [chaos.misbehave() for _ in range(8)]
    clients += [chaos.hold() for _ in range(HELD)]
    tasks = [asyncio.create_task(client) for client in clients]
    began, memory = time.perf_counter(), []
    while (now := time.perf_counter() - began) < seconds:
        memory.append((now, private_bytes(pid)))
        await asyncio.sleep(min(5.0, seconds / 10))
        for task in tasks[:2]:
            if task.done():
                task.result()  # a good client has failed
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return memory


async def is_ready(port: int) -> bool:
    """Return whether the server says that it is ready."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
    line = await reader.readline()
    writer.close()
    return b"200" in line


def find_labels(model: Path, photographs: list[bytes]) -> list[str]:
    """Return the best label of each image, in this process."""
    folder = load_model(model)
    decider, signature = Decider(folder), folder.recipe
    assert signature is not None
    labels = []
    for content in photographs:
        image = read_image(content, colour=signature.colour, min_pixels=signature.pixels)
        found = decider.describe(decider.decide(signature.describe(image)[None], 1))
        labels.append(found[0]["labels"][0]["label"])
    return labels


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("images", type=Path)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    photographs = make_photographs(options.images, 30)
    expected = find_labels(options.model, photographs)
    with start_server(options.model, "--timeout", "20") as (server, port):
        chaos = Chaos(port, photographs, expected)
        memory = asyncio.run(run(chaos, server.pid, 60 * options.minutes))
        ready = asyncio.run(is_ready(port))
        server.terminate()
        _, said = server.communicate(timeout=60)
    settled = [used for now, used in memory if now >= min(60.0, 30 * options.minutes)]
    results: dict[str, Any] = {
        "minutes": options.minutes,
        "good_answers": chaos.good,
        "wrong_answers": chaos.wrong,
        "busy_answers": chaos.busy,
        "bad_requests": chaos.bad,
        "held_connections": HELD,
        "ready_at_the_end": ready,
        "tracebacks": said.count("Traceback"),
        "exit_status": server.returncode,
        "megabytes_settled": round(settled[0] / 1e6),
        "megabytes_end": round(settled[-1] / 1e6),
        "growth": round(settled[-1] / settled[0] - 1, 4),
    }
    print(results)
    write_results(options.out, {**describe_run(), **results})


if __name__ == "__main__":
    main()
