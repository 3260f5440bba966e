"""``myriad serve`` in a process of its own: signals, reload, slow clients, wrong calls."""

import json
import shutil
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from myriad.serving.connections import HEADER_SECONDS, LimitedConnection
from tests.cli.calling import call, environment
from tests.serving.calling import TIMEOUT, Server
from tests.serving.samples import make_rows_model

ROWS = json.dumps({"rows": [[0.5] * 8]})
JSON = {"content-type": "application/json"}


def wait_until(found, seconds=TIMEOUT):
    """Wait for something that another process does."""
    for _ in range(int(seconds * 50)):
        if found():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


def best_label(server):
    status, content = server.request("POST", "/predict", ROWS, JSON)
    assert status == 200, content
    return json.loads(content)["predictions"][0]["labels"][0]


def test_a_request_that_has_begun_is_finished(rows_model):
    with Server(rows_model) as server, server.connect() as connection:
        connection.putrequest("POST", "/predict")
        connection.putheader("content-type", "application/json")
        connection.putheader("content-length", str(len(ROWS)))
        connection.endheaders(ROWS[:10].encode())
        assert server.request("GET", "/healthz")[0] == 200  # the request above has started
        server.process.terminate()
        refused = []

        def is_closed():
            try:
                socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
            except OSError:
                refused.append(True)
            return bool(refused)

        wait_until(is_closed)  # nobody new is let in
        connection.send(ROWS[10:].encode())
        answer = connection.getresponse()
        assert answer.status == 200
        assert json.loads(answer.read())["predictions"]
        out, err = server.process.communicate(timeout=TIMEOUT)
        assert server.process.returncode == 0
        assert json.loads(out) == {"address": server.address, "requests": 2}
        assert "Traceback" not in err


def test_a_replaced_model_is_loaded_without_dropping_a_request(tmp_path):
    model = make_rows_model(tmp_path / "model", seed=0)
    with Server(model) as server, server.connect() as connection:
        before = best_label(server)
        make_rows_model(model, n_classes=9, seed=5)

        def is_loaded():
            connection.request("POST", "/predict", ROWS, JSON)
            answer = connection.getresponse()
            content = json.loads(answer.read())
            assert answer.status == 200
            return content["predictions"][0]["labels"][0] != before

        wait_until(is_loaded)
        assert json.loads(server.request("GET", "/model")[1])["classes"] == 9
        after = best_label(server)
        (model / "config.json").write_text("{")  # a damaged model is not loaded
        shutil.rmtree(model)
        assert best_label(server) == after
        status, _, err = server.stop()
        assert status == 0
        assert "loaded again" in err
        assert "Traceback" not in err


def test_slow_headers_and_idle_connections_end():
    # The clock of a connection is checked without waiting for it.
    timers = []

    class Loop:
        def call_later(self, seconds, function):
            timers.append((seconds, function))
            return Timer()

    class Timer:
        def cancel(self):
            timers.pop()

    class Transport:
        closed = False

        def close(self):
            self.closed = True

    connection = object.__new__(LimitedConnection)
    connection.loop, connection.transport = Loop(), Transport()
    connection._start_clock()
    connection._start_clock()  # the next request: a new deadline instead of the old one
    ((seconds, close),) = timers
    assert seconds == HEADER_SECONDS
    close()
    assert connection.transport.closed
    connection._stop_clock()
    assert timers == []


def test_garbage_and_half_requests_leave_the_server_well(rows_model):
    with Server(rows_model) as server:
        held = []
        for start in (
            b"GARBAGE\r\n\r\n",
            b"POST /predict HTTP/1.1\r\nHost: localhost\r\nConte",
            b"\0" * 99,
        ):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT)
            client.sendall(start)
            held.append(client)
        cut = socket.create_connection(("127.0.0.1", server.port), timeout=TIMEOUT)
        cut.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900\r\n\r\nx")
        cut.close()
        assert best_label(server)
        assert b"400" in held[0].recv(100)
        for client in held:
            client.close()
        status, _, err = server.stop()
        assert status == 0
        assert "Traceback" not in err
        assert "Error" not in err


def refuse(capsys, *words):
    """Return the sentence with which a wrong call ends."""
    said = call(capsys, "serve", *words, "--quiet", status=2).err
    assert said.startswith("Error: ")
    assert said.count("\n") == 1
    return said


def test_wrong_calls_are_one_sentence(rows_model, tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"Port {port} of 127.0.0.1 is in use" in refuse(capsys, rows_model, "--port", port)
    assert "not a model folder" in refuse(capsys, tmp_path, "--port", 0)
    broken = shutil.copytree(rows_model, tmp_path / "broken")
    content = bytearray((broken / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (broken / "model.safetensors").write_bytes(content)
    assert "damaged" in refuse(capsys, broken, "--port", 0)
    assert "--api-key" in refuse(capsys, rows_model, "--host", "0.0.0.0")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thing").touch()
    assert "--feedback" in refuse(capsys, rows_model, "--port", 0, "--feedback", tmp_path / "other")


def test_without_the_extra_one_sentence(rows_model, tmp_path):
    (tmp_path / "fastapi.py").write_text("raise ImportError(name='fastapi')")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from myriad.cli.main import run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "serve", str(rows_model), "--port", "0"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 2
    assert 'needs the package fastapi: pip install "myriad-learn[serve]"' in done.stderr


def test_many_classes_are_found_and_answered(tmp_path):
    model = make_rows_model(tmp_path / "many", n_classes=100_000, dim=16)
    with Server(model) as server:
        row = np.zeros(16).tolist()
        status, content = server.request("POST", "/predict?k=3", json.dumps({"rows": [row]}), JSON)
        assert status == 200
        status, content = server.request("GET", "/classes?q=class%2099999&limit=5")
        assert [one["label"] for one in json.loads(content)["classes"]] == ["class 99999"]


@pytest.mark.parametrize("key", ["", "secret"])
def test_the_key_comes_from_the_environment(rows_model, key):
    from myriad.cli.serve import KEY_VARIABLE, read_options
    from myriad.options import options_of
    from myriad.serving.options import ServeOptions

    given = {name: known.default for name, known in options_of(ServeOptions).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEY_VARIABLE, key)
        assert read_options(given).api_key == (key or None)
