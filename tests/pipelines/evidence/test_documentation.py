"""The model card, which people read as Markdown and as plain text."""

from myriad.measures import Measures
from myriad.pipelines.evidence.documentation import write_card

MEASURES = Measures(24, 0, 0, 12, (95.83,) * 10, (95.83,) * 10)


def test_settings_are_written_for_readers():
    found = {"measure": "accuracy", "accuracy": 98.612, "folds": 1}
    facts = {"cross_validation": found, "average": True, "lam": 1e-5}
    card = write_card("birds", MEASURES, facts, reads="image")
    assert "| cross validation | measure accuracy, accuracy 98.61, folds 1 |" in card
    assert "| average | yes |" in card
    assert "| lam | 1e-05 |" in card
    facts = {"signature_choice": {"sentence": "both", "images": 9}}
    card = write_card("birds", MEASURES, facts, reads="image")
    assert "| signature choice | both |" in card


def test_names_are_escaped_in_text_but_not_in_code():
    card = write_card("my_birds #2", MEASURES, {"signature": "a|b_c"}, reads="image")
    assert card.startswith("# my&#95;birds &#35;2\n")
    assert "| signature | a&#124;b&#95;c |" in card
    assert "    myriad predict 'my_birds #2' IMAGE...\n" in card
    assert 'myriad.load("my_birds #2")' in card


def test_names_do_not_command_a_terminal():
    card = write_card("a\x1b[2Jb", MEASURES, {"merged": ["x\x1b[1m\x9b1m\ny"]}, reads="image")
    assert not any(
        ord(character) < 32 or 127 <= ord(character) < 160 for character in set(card) - {"\n"}
    )
    assert "| merged | x &#91;1m 1m y |" in card


def test_a_model_of_rows_is_not_said_to_read_images():
    card = write_card("birds", MEASURES, {}, reads="row", measured="validation rows")
    assert "## Accuracy on 24 validation rows\n" in card
    assert "myriad predict birds ROWS.npy\n" in card
    assert "image" not in card.lower()


def test_a_model_that_was_not_measured_has_no_accuracy():
    nothing = Measures(0, 0, 0, 12, (None,) * 10, (None,) * 10)
    assert "Accuracy" not in write_card("birds", nothing, {}, reads="row")
