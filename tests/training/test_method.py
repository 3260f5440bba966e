"""Methods made from the words of a command."""

import math

import pytest

from myriad.errors import InputError
from myriad.training import METHODS, make_method


def test_words_for_numbers():
    assert make_method(METHODS, "ovr", beta="all").beta == math.inf
    assert make_method(METHODS, "ovr", beta="auto").beta is None
    assert make_method(METHODS, "ovr", beta="2.5").beta == 2.5
    with pytest.raises(
        InputError, match="--beta must be a number above 0 or auto or all, not 'many'"
    ):
        make_method(METHODS, "ovr", beta="many")
    with pytest.raises(InputError, match="--beta does not belong to --objective warp"):
        make_method(METHODS, "warp", beta="2")
    with pytest.raises(InputError, match="--objective must be one of auto, ovr"):
        make_method(METHODS, "wrap")


@pytest.mark.parametrize("objective", METHODS)
def test_limits_that_a_method_does_not_know_change_nothing(objective):
    method = make_method(METHODS, objective)
    limited = method.with_memory(12345)
    assert getattr(limited, "memory", 12345) == 12345
    patient = method.without_early_stopping(7)
    assert getattr(patient, "patience", 7) == 7
    assert type(limited) is type(patient) is type(method)
