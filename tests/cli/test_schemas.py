from importlib.resources import files

import jsonschema
import pytest

from tests.cli.schemas import load_schema

MEASURES = {
    "n": 100,
    "bad": 0,
    "unknown": 2,
    "classes": 10,
    "top1": 61.0,
    "top5": 90.5,
    "class_top1": 60.2,
    "class_top5": None,
    "accuracy_at": {str(k): 50.0 + k for k in range(1, 11)},
    "map": None,
    "map11": None,
    "seconds": 1.5,
}
TRIAL = {
    "study": "grid",
    "settings": {"eta": 0.1},
    "top1": 61.0,
    "top5": 80.0,
    "epochs": 3,
    "seconds": 1.0,
    "history": [],
    "search": [],
    "error": None,
}
CHANGED = {"model": "m2", "made_from": "m", "classes": 9, "labels": ["a"], "calibration": None}
OBJECTS = {
    "evaluate": MEASURES,
    "train": {
        "model": "m",
        "seconds": 3.0,
        "epochs": 12,
        "settings": {"beta": 16},
        "validation": MEASURES,
    },
    "check": {
        "data": "photos",
        "kind": "images",
        "n": 12,
        "classes": [{"name": "ant", "n": 12, "splits": {"train": 12}}],
        "splits": {"train": 12},
        "bad": [],
        "serious": False,
        "findings": [],
        "duplicates": [],
        "odd": {},
        "alike_names": [],
        "labels": None,
        "report": "photos.check/report.html",
        "fixed": None,
        "seconds": 1.0,
    },
    "warm-up": {"kernels": 9, "compiled": 3, "folder": "~/kernels", "seconds": 1.0},
    "info": {
        "versions": {"myriad": "0.2.0", "python": "3.11.7"},
        "machine": {
            "system": "Linux",
            "processor": "x",
            "features": ["avx"],
            "cores": 2,
            "memory": 10**9,
        },
        "running": {"threads": 2, "libraries": [], "processes": "spawn", "file_locks": True},
        "caches": {
            "kernels": "k",
            "n_kernels": 3,
            "bytes": 7,
            "measurements": "m",
            "package": "p",
            "executable": "e",
        },
        "environment": {},
    },
    "demo": {"model": "m", "report": "m/report.html", "seconds": 80.0, "test": MEASURES},
    "predict": {
        "predictions": [{"path": "a.jpg", "labels": [{"label": "cat", "score": 1.2}]}],
        "bad": [{"path": "b.jpg", "reason": "empty file"}],
    },
    "extract": {
        "store": "s",
        "rows": 100,
        "bad": 1,
        "dim": 4096,
        "bytes_per_row": 512,
        "seconds": 4.2,
    },
    "trial": TRIAL,
    "tune": {
        "store": "s",
        "objective": "ovr",
        "classes": 10,
        "rows": [TRIAL],
        "best": TRIAL,
        "command": ["myriad", "train"],
        "seconds": 3.0,
        "report": "t/report.html",
    },
    "compare": {
        "store": "s",
        "classes": 10,
        "rows": [
            {
                "objective": "ovr",
                "validation": {"n": 10, "top1": 60.0},
                "test": None,
                "seconds": 1.0,
                "epochs": 3,
                "settings": {"eta": 0.1},
                "history": [{"epoch": 1, "top1": 60.0}],
                "model": "c/ovr",
                "error": None,
            }
        ],
        "best": None,
        "seconds": 3.0,
        "report": "c/report.html",
    },
    "plan": {
        "rows": [
            {"step": step, "seconds": 3.0, "disk": 5.0, "memory": 9.0, "paper": None}
            for step in ("describe", "in all")
        ],
        "advice": [],
        "job": {},
        "machine": {},
        "paces": {},
        "dim": 4096,
        "bytes_per_row": 512,
    },
    "import": {
        "store": "s",
        "rows": 100,
        "bad": 0,
        "dim": 512,
        "bytes_per_row": 1024,
        "seconds": 0.2,
    },
    "compress": {
        "store": "s",
        "rows": 100,
        "bad": 0,
        "dim": 512,
        "bytes_per_row": 64,
        "ratio": 32.0,
        "code": {"kind": "bits", "features": 512},
        "relative_error": None,
        "error": None,
        "seconds": 0.2,
    },
    "export": {"source": "m", "files": ["m.onnx"], "dim": 64, "classes": 10, "seconds": 0.1},
    "report": {"report": "model/report.html"},
    "serve": {"address": "http://127.0.0.1:8000", "requests": 3},
    "explain": {
        "picture": "why.png",
        "path": "photo.jpg",
        "label": "a",
        "against": None,
        "score": 1.5,
        "bias": -0.5,
    },
    "extend": {
        "model": "m2",
        "extended_from": "m",
        "store": "m2.store",
        "classes": 12,
        "added": ["x", "y"],
        "updated": [],
        "old_rows": "store",
        "rows": {"new": 20, "old": 100},
        "held_out": MEASURES,
        "calibration": None,
        "settings": {"objective": "softmax"},
        "seconds": 1.0,
    },
    "forget": CHANGED,
    "merge": CHANGED,
    "error": {"error": "No such file."},
}


def test_every_schema_has_an_example():
    names = {entry.name for entry in files("myriad.cli").joinpath("schemas").iterdir()}
    assert names == {f"{verb}.json" for verb in OBJECTS}


@pytest.mark.parametrize("verb", OBJECTS)
def test_schema_asks_for_its_keys(verb):
    schema = load_schema(verb)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(OBJECTS[verb] | {"more": 1})
    assert set(schema["required"]) == OBJECTS[verb].keys()
    for key in OBJECTS[verb]:
        less = {name: value for name, value in OBJECTS[verb].items() if name != key}
        assert not validator.is_valid(less)
        assert not validator.is_valid(OBJECTS[verb] | {key: {"of": "no use"}} | {key: object()})


@pytest.mark.parametrize(("verb", "key"), [("train", "validation"), ("demo", "test")])
def test_measures_are_checked_inside_other_objects(verb, key):
    validator = jsonschema.Draft202012Validator(load_schema(verb))
    for wrong in ({"n": -1}, {"top1": 101}, {"top1": "60"}, {"accuracy_at": {"1": 50}}):
        assert not validator.is_valid(OBJECTS[verb] | {key: MEASURES | wrong})


def test_predictions_are_checked():
    validator = jsonschema.Draft202012Validator(load_schema("predict"))
    for labels in ([{"label": "cat"}], [{"label": 3, "score": 1.0}], {}):
        wrong = {"predictions": [{"path": "a.jpg", "labels": labels}], "bad": []}
        assert not validator.is_valid(wrong)


def test_a_comparison_may_be_of_codes():
    validator = jsonschema.Draft202012Validator(load_schema("compare"))
    times = dict.fromkeys(("seconds_coding", "seconds_training", "seconds_predicting"), 0.1)
    row = {"codes": "pq", "asked": 32.0, "ratio": 32.0, "bytes_per_row": 64, "error": 0.3, **times}
    row |= {"split": "test", "n": 10, "top1": 60.0, "top5": 90.0, "class_top1": 60.0}
    validator.validate(OBJECTS["compare"] | {"rows": [row], "best": row})
    for key in row:
        less = {name: value for name, value in row.items() if name != key}
        assert not validator.is_valid(OBJECTS["compare"] | {"rows": [less]})
