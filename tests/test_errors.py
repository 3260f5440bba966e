"""Messages of errors: what was meant, and what is too long to be quoted."""

import pytest

from myriad.errors import MESSAGE_CHARACTERS, InputError, did_you_mean, quote


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("herron", ["robin", "heron"], " Did you mean 'heron'?"),
        ("Heron", ["robin", "heron"], " Did you mean 'heron'?"),
        ("HERON", ["Heron", "heron"], " Did you mean 'Heron'?"),
        ("owl", ["robin", "heron"], ""),
        ("кoт", ["кот", "пёс"], " Did you mean 'кот'?"),
        (7, [70, 8], " Did you mean '70'?"),
        ("a", [], ""),
    ],
)
def test_the_nearest_is_named(word, known, expected):
    assert did_you_mean(word, known) == expected


def test_a_message_that_quotes_a_whole_file_is_shortened_in_the_middle():
    message = str(InputError(f"rows.csv has {'x' * 10_000_000} in line 1: remove it."))
    assert len(message) <= MESSAGE_CHARACTERS
    assert message.startswith("rows.csv has xxx")
    assert message.endswith("xxx in line 1: remove it.")


def test_values_that_python_does_not_write_are_quoted():
    assert quote("heron") == "'heron'"
    assert quote(10**5000) == "a value of type int that is too long to be written"
