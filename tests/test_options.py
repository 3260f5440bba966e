"""Options stated on dataclass fields: read, parsed, checked, grouped."""

import math
from dataclasses import dataclass, replace

import pytest

from myriad.errors import InputError
from myriad.options import (
    check_options,
    flat_values,
    make_from_options,
    option,
    option_group,
    options_of,
)


@dataclass(frozen=True)
class Inner:
    average: bool = option(False, help="Average the weights.")
    max_norm: float = option(math.inf, above=0, words={"none": math.inf}, help="Largest norm.")


@dataclass(frozen=True, kw_only=True)
class Outer:
    seed: int = 0
    eta: float | None = option(None, above=0, words={"auto": None}, help="Learning rate.")
    epochs: int = option(50, minimum=1, help="Most epochs.")
    loss: str = option("hinge", choices=("hinge", "logistic"), help="Loss.")
    inner: Inner = option_group(Inner)

    def __post_init__(self) -> None:
        check_options(self)


def test_options_of_groups_are_listed_with_the_others() -> None:
    found = options_of(Outer)
    assert list(found) == ["eta", "epochs", "loss", "average", "max_norm"]
    assert found["max_norm"].flag == "--max-norm"
    assert [found[name].shown_default for name in found] == ["auto", "50", "hinge", "no", "none"]


def test_text_and_python_values_give_the_same_instance() -> None:
    from_text = make_from_options(Outer, {"eta": "0.5", "epochs": "3", "max_norm": "2"}, seed=7)
    from_values = make_from_options(Outer, {"eta": 0.5, "epochs": 3, "max_norm": 2.0}, seed=7)
    assert from_text == from_values == Outer(seed=7, eta=0.5, epochs=3, inner=Inner(max_norm=2.0))
    assert make_from_options(Outer, {"eta": "auto"}).eta is None
    assert make_from_options(Outer, flat_values(from_text), seed=7) == from_text


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"eta": 0}, "eta must be a number above 0 or auto, not 0"),
        ({"eta": "fast"}, "eta must be a number above 0 or auto, not 'fast'"),
        ({"eta": math.nan}, "eta must be a number above 0"),
        ({"epochs": 2.5}, "epochs must be a whole number of at least 1, not 2.5"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"epochs": None}, "epochs must be a whole number"),
        ({"loss": "square"}, "loss must be one of hinge, logistic, not 'square'"),
        ({"average": "maybe"}, "average must be True or False"),
        ({"speed": 1}, "Outer has no option speed"),
    ],
)
def test_wrong_values(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        make_from_options(Outer, given)


def test_instances_are_checked() -> None:
    with pytest.raises(InputError, match="epochs must be"):
        replace(Outer(), epochs=-1)
