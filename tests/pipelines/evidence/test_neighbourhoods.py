"""Close classes and the map of an embedding."""

import numpy as np

from myriad.models import EmbeddingModel, FactoredModel, LinearModel
from myriad.pipelines.evidence.neighbourhoods import describe_embedding, find_groups, find_nearest


def make_model():
    rng = np.random.default_rng(0)
    P = 10 * rng.standard_normal((20, 4)).astype(np.float32)
    P[7] = P[3] + 0.01
    P[15] = P[7] + 0.01
    P[2] = P[11]
    return EmbeddingModel(np.eye(4, dtype=np.float32), P)


def test_close_classes_are_grouped():
    model = make_model()
    nearest, distances = find_nearest(model.prototypes)
    assert nearest[2] == 11
    assert nearest[11] == 2
    groups = [set(group.tolist()) for group in find_groups(nearest, distances)]
    assert groups[:2] == [{2, 11}, {3, 7, 15}]


def test_all_classes_have_a_place():
    found = describe_embedding(make_model(), [f"class {c}" for c in range(20)])
    assert set(found["groups"][0]["names"]) == {"class 2", "class 11"}
    places = {place["name"]: (place["x"], place["y"]) for place in found["places"]}
    assert len(places) == 20
    assert places["class 2"] == places["class 11"]
    assert all(0 <= x <= 100 and 0 <= y <= 100 for x, y in places.values())


def test_other_models_have_none():
    linear = LinearModel(np.ones((5, 3), np.float32), np.zeros(5, np.float32))
    assert describe_embedding(linear, list("abcde")) == {}
    one = EmbeddingModel(np.ones((1, 3), np.float32), np.arange(4, dtype=np.float32)[:, None])
    assert len(describe_embedding(one, list("abcd"))["places"]) == 4


def test_classes_of_a_low_rank_model_have_coordinates():
    V = np.random.default_rng(0).standard_normal((9, 3)).astype(np.float32)
    b, strengths = np.zeros(9, np.float32), np.array([3.0, 2.0, 1.0], np.float32)
    model = FactoredModel(V, b, np.eye(5, 3, dtype=np.float32), strengths)
    names = [f"class {c}" for c in range(9)]
    assert [place["name"] for place in describe_embedding(model, names)["places"]] == names
    nothing = FactoredModel(V[:, :0], b, np.eye(5, 0, dtype=np.float32), strengths[:0])
    assert describe_embedding(nothing, names) == {}
