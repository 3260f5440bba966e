"""Calls of the application in this process, and of a server in a process of its own."""

import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from myriad.serving.app import make_app
from myriad.serving.options import ServeOptions
from myriad.serving.service import open_service
from tests.cli.calling import environment

TIMEOUT = 120


class Client:
    """A service in an event loop of its own thread; requests wait for their answers."""

    def __init__(self, model, **options):
        self.model = model
        self.options = ServeOptions(**options)
        self.notes = []

    def __enter__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._opened = open_service(self.model, self.options, threads=1)
        try:
            self.service = self.run(self._opened.__aenter__())
        except BaseException:
            self._stop()
            raise
        app = make_app(self.service)
        self.reader = app.application.state.reader
        transport = httpx.ASGITransport(app)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        return self

    def __exit__(self, *exception):
        self.run(self._http.aclose())
        self.run(self._opened.__aexit__(None, None, None))
        self._stop()

    def _stop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(TIMEOUT)

    def get(self, path, **settings):
        return self.run(self._http.get(path, **settings))

    def post(self, path, content=None, **settings):
        return self.run(self._http.post(path, content=content, **settings))

    def post_together(self, requests):
        """Return the answers to requests (path, content) that are under way at the same time."""

        async def send():
            calls = (self._http.post(path, content=content) for path, content in requests)
            return await asyncio.gather(*calls)

        return self.run(send())


def refusal(answer, status):
    """Return the sentence of a refused request, after checking that it is one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    content = answer.json()
    assert content.keys() == {"error"}
    sentence = content["error"]
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert tempfile.gettempdir() not in sentence  # where the models of the tests are
    return sentence


class Server:
    """``myriad serve`` in a process of its own."""

    def __init__(self, model: Path, *options: str):
        words = ["serve", str(model), "--port", "0", "--threads", "1", "--json", *options]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "myriad.cli.main", *words],
            env=environment(MYRIAD_API_KEY=""),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        line = self.process.stderr.readline()
        if " at http://" not in line:
            raise AssertionError(line + self.process.communicate()[1])
        self.address = line.rpartition(" at ")[2].split()[0]
        self.port = urlsplit(self.address).port

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def connect(self):
        """Return a context with a connection, which is closed in the end."""
        return closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT))

    def request(self, method, path, body=None, headers=None):
        """Return the status and the content of an answer."""
        with self.connect() as connection:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def stop(self):
        """End the server by SIGTERM; return its status, its JSON object and what it said."""
        self.process.terminate()
        out, err = self.process.communicate(timeout=TIMEOUT)
        return self.process.returncode, json.loads(out), err
