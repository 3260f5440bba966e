"""Readers of files from users: an `InputError` or a result, quickly.

Damaged stores, manifests, archives and evidence are fuzzed in the tests of their packages; here are
model folders, plans to resume, lists of files, and headers that claim absurd sizes.
"""

import contextlib
import json
import resource
import shutil
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from myriad.errors import InputError, MyriadError
from myriad.files import checksum
from myriad.images import list_inputs
from myriad.models import load_model
from myriad.store import Store
from tests.robustness.calling import QUICK, call
from tests.store.test_manifest import change

FUZZ = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@pytest.fixture(scope="module")
def model(ready, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzzed") / "model"
    shutil.copytree(ready / "model", folder)
    return folder


@pytest.fixture(scope="module")
def store(ready, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzzed") / "store"
    shutil.copytree(ready / "model.store", folder)
    return folder


@contextlib.contextmanager
def put(path, content):
    """Replace the content of a file within a context."""
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        yield
    finally:
        path.write_bytes(before)


def try_to_load(folder):
    try:
        loaded = load_model(folder)
    except InputError:
        return
    assert len(loaded.class_names) == loaded.model.n_classes > 0


@FUZZ
@given(data=st.data())
def test_config_of_a_model(model, data):
    content = json.loads((model / "config.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content = change(content, data.draw)
    with put(model / "config.json", json.dumps(content).encode()):
        try_to_load(model)


@FUZZ
@given(content=st.binary(max_size=60) | st.text('{}[]":,0e\\u', max_size=60).map(str.encode))
def test_config_that_is_no_json(model, content):
    with put(model / "config.json", content):
        try_to_load(model)


@pytest.mark.parametrize("depth", [90, 300, 900, 100_000])
def test_config_that_nests_deep(model, depth):
    config = json.loads((model / "config.json").read_bytes())
    for name in ("model", "recipe"):
        start, end = json.dumps(config | {name: "HERE"}).split('"HERE"')
        nested = '{"kind": "fisher", "pca": ' * depth + "1" + "}" * depth
        content = (start + nested + end).encode()
        with put(model / "config.json", content), pytest.raises(InputError):
            load_model(model)


def replace_arrays(model, content):
    """Write other arrays, and a config with their checksum."""
    config = json.loads((model / "config.json").read_bytes())
    (model / "model.safetensors").write_bytes(content)
    changed = config | {"checksum": checksum(model / "model.safetensors")}
    return put(model / "config.json", json.dumps(changed).encode())


@FUZZ
@given(data=st.data())
def test_arrays_of_a_model(model, data):
    """Change the header or the length of the arrays; the checksum is updated."""
    original = (model / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", original[:8])
    header = json.loads(original[8 : 8 + size])
    for _ in range(data.draw(st.integers(1, 2))):
        header = change(header, data.draw)
    text = json.dumps(header).encode()
    length = data.draw(st.sampled_from([len(text), 0, 7, 2**31, 2**60, 2**64 - 1]))
    body = original[8 + size :][: data.draw(st.integers(0, len(original)))]
    try:
        with replace_arrays(model, struct.pack("<Q", length) + text + body):
            try_to_load(model)
    finally:
        (model / "model.safetensors").write_bytes(original)


ABSURD = {
    "an array of 2^60 bytes": ("F32", [2**58], [0, 2**60]),
    "a shape that overflows": ("F32", [2**32, 2**32], [0, 0]),
    "an end before its start": ("F32", [1], [4, 0]),
    "a negative offset": ("F32", [1], [-4, 0]),
    "a type that NumPy has not": ("BF16", [2], [0, 4]),
    "a type that nothing has": ("X7", [1], [0, 4]),
}


def write_header(name, dtype, shape, offsets):
    """Return a safetensors file of one array as a header describes it."""
    text = json.dumps({name: {"dtype": dtype, "shape": shape, "data_offsets": offsets}}).encode()
    return struct.pack("<Q", len(text)) + text + bytes(4)


@pytest.mark.parametrize(
    "content",
    [struct.pack("<Q", 2**60) + b"{}", *(write_header("a", *row) for row in ABSURD.values())],
    ids=["a header of 2^60 bytes", *ABSURD],
)
def test_arrays_of_absurd_sizes(model, store, content):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    original = (model / "model.safetensors").read_bytes()
    try:
        with replace_arrays(model, content), pytest.raises(InputError):
            load_model(model)
    finally:
        (model / "model.safetensors").write_bytes(original)
    path = store / "recipe.safetensors"
    for name in ("store.json", "plan.json"):
        stated = json.loads((store / name).read_bytes())
        with put(path, content):
            record = {"rows": 0, "bytes": len(content), "sha256": checksum(path)}
            text = json.dumps(stated | {"arrays": record}).encode()
            with put(store / name, text), pytest.raises(InputError):
                Store.open(store) if name == "store.json" else Store.resume(store, plan={})
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


@settings(FUZZ, max_examples=40)
@given(data=st.data())
def test_plan_of_a_store_to_resume(ready, store, data):
    """Whatever a plan says, ``--resume`` ends soon: it is refused, or the rows are made."""
    content = json.loads((store / "plan.json").read_bytes())
    content = change(content, data.draw)
    command = ["train", ready / "images", "--out", store.parent / "m", "--store", store]
    with put(store / "plan.json", json.dumps(content).encode()):
        called = call(*command, *QUICK.split(), "--resume")
    assert called.status in (0, 2), called.err
    assert "bug in myriad" not in called.err


@pytest.mark.parametrize("n_shards", [0, 2, 10**6, 2**31 - 1])
def test_plan_with_other_shards(ready, store, n_shards):
    content = json.loads((store / "plan.json").read_bytes()) | {"n_shards": n_shards}
    command = ["train", ready / "images", "--out", store.parent / "m", "--store", store]
    with put(store / "plan.json", json.dumps(content).encode()):
        called = call(*command, *QUICK.split(), "--resume")
    assert called.status == 2
    assert "store is damaged" in called.err


@FUZZ
@given(content=st.binary(max_size=80) | st.text("a/.\n\r\0 ~*é\udc80", max_size=40))
def test_lists_of_files(store, content):
    path = store.parent / "list.txt"
    path.write_bytes(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    with contextlib.suppress(MyriadError):
        assert list_inputs([str(path)])


@pytest.mark.long
@FUZZ
@given(data=st.data())
def test_evidence_of_a_model(model, data):
    """The same through the command, which also reads the pictures that the evidence names."""
    content = json.loads((model / "evidence.json").read_bytes())
    content = change(content, data.draw)
    with put(model / "evidence.json", json.dumps(content).encode()):
        called = call("report", model)
    assert called.status in (0, 2), called.err
    assert "bug in myriad" not in called.err
