"""The names of `myriad.codes` whose modules need NumPy and Numba, imported together."""

from __future__ import annotations

from myriad.codes.bilinear import BilinearCode, learn_bilinear
from myriad.codes.bits import SignCode, learn_bits
from myriad.codes.blocks import BlockCode, FloatCode
from myriad.codes.chosen import ChosenCode, learn_chosen
from myriad.codes.code import Code, Selection, load_code, save_code
from myriad.codes.hadamard import HadamardCode, HadamardRotation, draw_rotation, learn_hadamard
from myriad.codes.information import information_from_counter, measure_information, rank_features
from myriad.codes.presence import PresenceCode, learn_presence
from myriad.codes.product import ProductCode, learn_product
from myriad.codes.registry import BINS
from myriad.codes.rotated import RotatedCode, learn_rotated
from myriad.codes.scalar import ScalarCode, learn_scalar

__all__ = [
    "BINS",
    "BilinearCode",
    "BlockCode",
    "ChosenCode",
    "Code",
    "FloatCode",
    "HadamardCode",
    "HadamardRotation",
    "PresenceCode",
    "ProductCode",
    "RotatedCode",
    "ScalarCode",
    "Selection",
    "SignCode",
    "draw_rotation",
    "information_from_counter",
    "learn_bilinear",
    "learn_bits",
    "learn_chosen",
    "learn_hadamard",
    "learn_presence",
    "learn_product",
    "learn_rotated",
    "learn_scalar",
    "load_code",
    "measure_information",
    "rank_features",
    "save_code",
]
