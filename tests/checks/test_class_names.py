import unicodedata

import pytest

from myriad.checks.class_names import find_alike_names


@pytest.mark.parametrize(
    "pair",
    [
        ("Robin", "robin"),
        ("sea gull", "Sea_Gull"),
        ("sea-gull", "seagull"),
        ("wren ", "wren"),
        ("café", unicodedata.normalize("NFD", "café")),
        ("straße", "STRASSE"),
        ("ﬁnch", "finch"),
    ],
)
def test_names_that_read_the_same_are_found(pair):
    assert find_alike_names(["other", *pair]) == [list(pair)]


def test_other_names_are_not_alike():
    assert find_alike_names(["robin", "robins", "1 2", "12", "1.5", "15", "-", "_", " "]) == []
