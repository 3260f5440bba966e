"""Codes turn rows into few bytes and back; one code a file, one line in the table `CODES`."""

from __future__ import annotations

from collections.abc import Callable

from myriad.codes.code import Code
from myriad.codes.product import ProductCode, learn_product
from myriad.codes.scalar import ScalarCode, learn_scalar

CODES: dict[str, Callable[..., Code]] = {
    "pq": learn_product,
    "scalar": learn_scalar,
}
"""How each code is learned: ``learn(sample, *, seed, threads, progress, ...) -> Code``."""

__all__ = ["CODES", "Code", "ProductCode", "ScalarCode", "learn_product", "learn_scalar"]
