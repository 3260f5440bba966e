"""Codes turn rows into few bytes and back; one code a file, one line in the table `CODES`."""

from __future__ import annotations

from collections.abc import Callable

from myriad.codes.bilinear import BilinearCode, learn_bilinear
from myriad.codes.bits import SignCode, learn_bits
from myriad.codes.chosen import ChosenCode, learn_chosen
from myriad.codes.code import Code
from myriad.codes.folder import load_code, save_code
from myriad.codes.hadamard import HadamardCode, HadamardRotation, draw_rotation, learn_hadamard
from myriad.codes.information import BINS, inform_by, measure_information, rank_features
from myriad.codes.product import ProductCode, learn_product
from myriad.codes.rotated import ROTATIONS, RotatedCode, learn_rotated
from myriad.codes.scalar import ScalarCode, learn_scalar

CODES: dict[str, Callable[..., Code]] = {
    "pq": learn_product,
    "rotated": learn_rotated,
    "bits": learn_bits,
    "turned": learn_hadamard,
    "bilinear": learn_bilinear,
    "scalar": learn_scalar,
    "features": learn_chosen,
}
"""How each code is learned: ``learn(sample, *, seed, threads, progress, ...) -> Code``."""

__all__ = [
    "BINS",
    "CODES",
    "ROTATIONS",
    "BilinearCode",
    "ChosenCode",
    "Code",
    "HadamardCode",
    "HadamardRotation",
    "ProductCode",
    "RotatedCode",
    "ScalarCode",
    "SignCode",
    "draw_rotation",
    "inform_by",
    "learn_bilinear",
    "learn_bits",
    "learn_chosen",
    "learn_hadamard",
    "learn_product",
    "learn_rotated",
    "learn_scalar",
    "load_code",
    "measure_information",
    "rank_features",
    "save_code",
]
