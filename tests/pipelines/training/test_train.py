"""What a report says of the rows that a model was trained on."""

from myriad.pipelines.training.train import describe_extraction
from myriad.store import Store


def test_the_choice_of_a_signature_is_not_part_of_the_extraction(tmp_path):
    plan = {"signature": "fisher", "seed": 3, "choice": {"sentence": "network 80.0 ± 1.0"}}
    writer = Store.create(tmp_path / "s", class_names=["a", "b"], dim=2, n_shards=1, plan=plan)
    writer.write_shard(0, [[0.0, 1.0], [1.0, 0.0]], [0, 1], ["0.png", "1.png"])
    writer.finish()
    store = Store.open(tmp_path / "s")
    assert store.plan["choice"] == plan["choice"]
    assert describe_extraction(store) == {"signature": "fisher", "seed": 3}
