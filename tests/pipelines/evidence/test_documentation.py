"""The model card, which people read as Markdown and as plain text."""

from myriad.measures import Measures
from myriad.pipelines.evidence.documentation import write_card

MEASURES = Measures(24, 0, 0, 12, (95.83,) * 10, (95.83,) * 10)


def test_settings_are_written_for_readers():
    found = {"measure": "accuracy", "accuracy": 98.612, "folds": 1}
    card = write_card("birds", MEASURES, {"cross_validation": found, "average": True, "lam": 1e-5})
    assert "| cross validation | measure accuracy, accuracy 98.61, folds 1 |" in card
    assert "| average | yes |" in card
    assert "| lam | 1e-05 |" in card
    card = write_card("birds", MEASURES, {"signature_choice": {"sentence": "both", "images": 9}})
    assert "| signature choice | both |" in card


def test_what_accuracy_was_measured_on():
    assert "On 24 validation images:" in write_card("birds", MEASURES, {})
    assert "On 24 held-out rows:" in write_card("birds", MEASURES, {}, items="held-out rows")
    nothing = Measures(0, 0, 0, 12, (float("nan"),) * 10, (float("nan"),) * 10)
    card = write_card("birds", nothing, {"merged": ["gull", "tern"]})
    assert "Not measured: no validation images were held out." in card
    assert "top-1" not in card
    assert "| merged | gull, tern |" in card


def test_names_are_escaped_in_text_but_not_in_code():
    card = write_card("my_birds #2", MEASURES, {"signature": "a|b_c"})
    assert card.startswith("# my&#95;birds &#35;2\n")
    assert "| signature | a&#124;b&#95;c |" in card
    assert "    myriad predict 'my_birds #2' IMAGE...\n" in card
    assert 'myriad.load("my_birds #2")' in card
