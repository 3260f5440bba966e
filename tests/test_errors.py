"""The question that follows an error where something similar exists."""

import pytest

from myriad.errors import did_you_mean


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
