"""Who may ask, limits while a body arrives, headers, time limits, failures of the server."""

import asyncio

import pytest

from myriad.errors import InputError
from myriad.images import BadImage
from myriad.serving.options import ServeOptions
from myriad.serving.safety import HEADERS
from tests.serving.calling import Client, refusal

KEY = "open sesame"


@pytest.fixture(scope="module")
def keyed(rows_model):
    with Client(rows_model, host="0.0.0.0", api_key=KEY) as client:
        yield client


def test_only_this_machine_without_key_or_consent():
    assert ServeOptions().is_local
    assert ServeOptions(host="::1").is_local
    assert ServeOptions(host="localhost").is_local
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
        with pytest.raises(InputError, match="--api-key"):
            ServeOptions(host=host)
        assert not ServeOptions(host=host, api_key="x").is_local
        assert ServeOptions(host=host, open=True).allowed_hosts is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"port": -1},
        {"port": 70000},
        {"max_images": 0},
        {"timeout": 0},
        {"max_megabytes": float("nan")},
        {"api_key": " "},
        {"api_key": "line\nbreak"},
        {"queue": 0},
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(InputError, match="must"):
        ServeOptions(**wrong)


def test_the_key_is_required(keyed):
    for headers in ({}, {"x-api-key": "wrong"}, {"authorization": "Bearer wrong"}):
        answer = keyed.get("/model", headers=headers)
        assert "X-API-Key" in refusal(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"
    for headers in ({"x-api-key": KEY}, {"authorization": f"Bearer {KEY}"}):
        assert keyed.get("/model", headers=headers).status_code == 200
    for path in ("/metrics", "/classes", "/v2", "/v2/models/rows.model", "/picture?label=a"):
        refusal(keyed.get(path), 401)
    refusal(keyed.post("/predict", b"x"), 401)
    for path in ("/", "/healthz", "/v2/health/ready", "/assets/page.js", "/docs"):
        assert keyed.get(path).status_code == 200


def test_other_hosts_and_origins_are_refused(rows, rows_model):
    assert "--allow-host" in refusal(rows.get("/model", headers={"host": "evil.org"}), 403)
    refusal(rows.get("/model", headers={"host": "[broken"}), 403)
    origin = {"origin": "http://evil.org"}
    assert "Cross-origin" in refusal(rows.post("/predict", b"x", headers=origin), 403)
    assert rows.post("/predict", b"", headers={"origin": "http://localhost"}).status_code == 400
    with Client(rows_model, allow_host="birds.org, www.birds.org") as client:
        assert client.get("/model", headers={"host": "birds.org"}).status_code == 200
        assert client.get("/model", headers={"host": "www.birds.org:80"}).status_code == 200
        refusal(client.get("/model", headers={"host": "cats.org"}), 403)


@pytest.mark.parametrize("path", ["/", "/model", "/nothing", "/assets/page.css"])
def test_every_answer_has_the_security_headers(rows, path):
    answer = rows.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "unsafe-inline" not in answer.headers["content-security-policy"]
    assert "server" not in answer.headers


def test_bytes_are_counted_while_they_arrive(images):
    sent = 0

    async def pour():
        nonlocal sent
        for _ in range(1000):
            sent += 100_000
            yield bytes(100_000)

    assert "1 megabytes" in refusal(images.post("/predict", pour()), 413)
    assert sent <= 1_200_000
    stated = images.post("/predict", bytes(1_100_000))
    refusal(stated, 413)
    assert images.service is not None


def test_uploads_count_as_memory_until_they_are_answered(images, letter, monkeypatch):
    from myriad.serving.uploads import Budget

    budget = Budget(10)
    monkeypatch.setattr(images.reader, "budget", budget)
    answer = images.post("/predict", letter[0])
    assert "uploads" in refusal(answer, 503)
    assert answer.headers["retry-after"] == "1"
    assert budget.used == 0
    budget.limit = 10**9
    assert images.post("/predict", letter[0]).status_code == 200
    refusal(images.post("/predict", b"no image"), 422)
    assert budget.used == 0


def test_large_images_are_refused_before_they_are_decoded(image_model, letter):
    with Client(image_model, max_megapixels=0.001) as client:
        assert "more than the limit" in refusal(client.post("/predict", letter[0]), 422)


def test_a_full_queue_is_503(images, letter, monkeypatch):
    monkeypatch.setattr(images.service, "pending", 256)
    answer = images.post("/predict", letter[0])
    assert "waiting" in refusal(answer, 503)
    assert answer.headers["retry-after"] == "1"
    assert "myriad_refused_total 1" in images.get("/metrics").text


def test_a_body_that_does_not_end_is_408(rows_model):
    async def wait():
        yield b"x"
        await asyncio.Event().wait()

    with Client(rows_model, timeout=0.2) as client:
        assert "did not arrive" in refusal(client.post("/predict", wait()), 408)


def test_an_answer_that_takes_too_long_is_503(image_model, letter, monkeypatch):
    async def wait(*arguments):
        await asyncio.Event().wait()

    with Client(image_model, timeout=0.5) as client:
        monkeypatch.setattr(client.service, "describe", wait)
        assert "longer than 0.5 s" in refusal(client.post("/predict", letter[0]), 503)


def test_a_failure_is_one_sentence_without_details(rows, monkeypatch, capfd):
    async def fail(*arguments):
        raise KeyError("/secret/path")

    monkeypatch.delenv("MYRIAD_DEBUG", raising=False)
    monkeypatch.setattr(rows.service, "predict", fail)
    answer = rows.post("/predict", json={"rows": [[0.0] * 8]})
    assert refusal(answer, 500) == "The server failed on this request."
    said = capfd.readouterr().err
    assert "Unexpected error: KeyError." in said
    assert "Traceback" not in said


def test_an_image_that_kills_workers_is_a_bad_image(images, letter, monkeypatch):
    from myriad.errors import WorkError

    def die(task):
        raise WorkError("3 worker processes died of the same task.")

    monkeypatch.setattr(images.service, "_worker_function", lambda model: die)
    assert "failed or took too long" in refusal(images.post("/predict", letter[0]), 422)
    assert isinstance(
        images.run(images.service.describe(images.service.model, [letter[0]]))[0], BadImage
    )
