"""``extend``, ``forget`` and ``merge`` on images."""

import shutil

import numpy as np
import pytest

from myriad.images import choose_glyphs, write_glyphs
from myriad.models import load_model, load_pictures
from myriad.store import Store
from tests.cli.calling import call, call_json


@pytest.fixture(scope="module")
def more(photos, tmp_path_factory):
    """Return a folder of two classes that the model lacks."""
    folder = tmp_path_factory.mktemp("more")
    write_glyphs(folder / "all", choose_glyphs(14), images=12, seed=0, splits=(1.0, 0, 0))
    known = {path.name for path in (photos / "train").iterdir()}
    names = sorted(path.name for path in (folder / "all" / "train").iterdir())
    for name in [name for name in names if name not in known][-2:]:
        shutil.copytree(folder / "all" / "train" / name, folder / "new" / f"new {name}")
    return folder / "new"


def test_a_model_grows_and_shrinks(capsys, model, more, tmp_path):
    out = tmp_path / "grown"
    words = [model, more, "--out", out, "--store", f"{model}.store"]
    found = call_json(capsys, "extend", *words)
    names = load_model(model).class_names
    assert found["added"] == sorted(path.name for path in more.iterdir())
    assert found["rows"]["new"] > 20
    grown = load_model(out)
    assert grown.class_names == [*names, *found["added"]]
    assert load_pictures(out, grown.class_names).read(12) is not None
    image = next((more / found["added"][0]).iterdir())
    shown = call(capsys, "extend", *words, "--overwrite")
    assert "unchanged" in shown.out
    assert call_json(capsys, "extend", *words, "--resume")["classes"] == 14
    predicted = call_json(capsys, "predict", out, image)["predictions"][0]
    assert predicted["labels"][0]["label"] == found["added"][0]
    fewer = call_json(capsys, "forget", out, names[0], "--out", tmp_path / "fewer")
    assert fewer["classes"] == 13
    words = ["merge", out, names[0], names[1], "--into", "both", "--out", tmp_path / "merged"]
    merged = call_json(capsys, *words)
    assert merged["classes"] == 13
    assert load_model(tmp_path / "merged").class_names[0] == "both"
    shown = call(capsys, "forget", out, names[0], "--out", tmp_path / "fewer", "--overwrite")
    assert f"Removed        {names[0]}" in shown.out
    words[-1] = tmp_path / "again"
    assert "Into           both" in call(capsys, *words).out


def test_bad_input_is_refused(capsys, model, more, tmp_path):
    refused = call_json(capsys, "forget", model, "zebra", "--out", tmp_path / "x", status=2)
    assert "no label 'zebra'" in refused["error"]
    words = [model, tmp_path / "nowhere", "--out", tmp_path / "x"]
    assert "does not exist" in call_json(capsys, "extend", *words, status=2)["error"]
    writer = Store.create(tmp_path / "wrong", class_names=["a", "b"], dim=3, n_shards=1)
    writer.write_shard(0, np.eye(2, 3, dtype=np.float32), [0, 1], ["0", "1"], "train")
    writer.finish()
    words = [model, more, "--out", tmp_path / "x", "--store", tmp_path / "wrong"]
    assert "have 3 features" in call_json(capsys, "extend", *words, status=2)["error"]
    assert not (tmp_path / "x.store").exists()
    refused = call_json(capsys, "forget", model, "zebra", "--out", model, status=2)
