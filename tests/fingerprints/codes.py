"""Cases of the quantizers, and of what describes images."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import myriad
from tests.fingerprints.data import draw_images, draw_rows
from tests.fingerprints.recording import Case

QUANTIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "pq": ("ProductQuantizer", {"d": 4, "bits": 5}),
    "pq 3 bits": ("ProductQuantizer", {"d": 5, "bits": 3}),
    "pq period": ("ProductQuantizer", {"d": 4, "bits": 4, "period": 8}),
    "pq random": ("ProductQuantizer", {"d": 4, "bits": 5, "rotation": "random"}),
    "pq opq": ("ProductQuantizer", {"d": 4, "bits": 5, "rotation": "opq"}),
    "bits": ("SignBits", {}),
    "bits chosen": ("SignBits", {"n_bits": 10}),
    "bits bins": ("SignBits", {"n_bits": 10, "bins": 4}),
    "bits turned": ("SignBits", {"turned": True}),
    "bits turned chosen": ("SignBits", {"turned": True, "n_bits": 10, "bins": 4}),
    "bilinear": ("BilinearCodes", {}),
    "bilinear fewer": ("BilinearCodes", {"n_bits": 12}),
    "bilinear random": ("BilinearCodes", {"learned": False}),
    "scalar": ("ScalarQuantizer", {}),
}
DESCRIPTORS = ("sift", "colour", "sift+colour")
SIGNATURES: dict[str, tuple[str, dict[str, Any]]] = {
    "fisher weights": ("FisherVector", {"n_components": 4, "weights": True}),
    "fisher pca": ("FisherVector", {"n_components": 4, "pca_dim": 8, "whiten": True}),
    "bov soft": ("BagOfVisualWords", {"n_words": 8, "soft": True}),
    "vlad within": ("VLAD", {"n_words": 4, "within": True}),
}
SIGNATURES |= {
    f"fisher {regions} regions": ("FisherVector", {"n_components": 4, "regions": regions})
    for regions in (1, 4, 8)
}
SIGNATURES |= {
    f"bov {name}": ("BagOfVisualWords", {"n_words": 8, "map": name})
    for name in ("hellinger", "chi2", "intersection", "intersection-pca")
}
SIGNATURES |= {
    f"{name} {descriptor}": (kind, {size: 4, "descriptor": descriptor})
    for name, kind, size in (
        ("fisher", "FisherVector", "n_components"),
        ("bov", "BagOfVisualWords", "n_words"),
        ("vlad", "VLAD", "n_words"),
    )
    for descriptor in DESCRIPTORS
}


def list_cases() -> Iterator[Case]:
    """Return the cases."""
    for name, (kind, options) in QUANTIZERS.items():
        for labelled in (True, False):
            key = f"quantizer {name}" + ("" if labelled else " unlabelled")
            yield Case(key, _quantize(getattr(myriad, kind), options, labelled))
    for kind in ("DenseSIFT", "LocalColour"):
        yield Case(f"descriptor {kind}", _describe(getattr(myriad, kind)))
    for name, (kind, options) in SIGNATURES.items():
        yield Case(f"signature {name}", _sign(getattr(myriad, kind), options))
    if has_network():
        yield Case("signature efficientnet-lite0", _sign(myriad.Backbone, {}))


def has_network() -> bool:
    """Return whether the weights of a network are installed."""
    try:
        myriad.Backbone().fit().transform(draw_images()[0][:1])
    except (ImportError, myriad.MyriadError):
        return False
    return True


def _quantize(make: Callable[..., Any], options: dict[str, Any], labelled: bool) -> Any:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        X, y = draw_rows()
        known = set(make().get_params())
        given = options | ({"threads": threads} if "threads" in known else {})
        quantizer = make(**given).fit(X, y if labelled else None)
        codes = quantizer.encode(X)
        return {"codes": codes, "decoded": quantizer.decode(codes)}

    return run


def _describe(make: Callable[..., Any]) -> Any:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        known = set(make().get_params())
        given = {"threads": threads} if "threads" in known else {}
        found = make(**given).fit().transform(draw_images()[0][:8])
        return {"arrays": [np.asarray(one) for one in found]}

    return run


def _sign(make: Callable[..., Any], options: dict[str, Any]) -> Any:
    def run(threads: int, folder: Path) -> dict[str, Any]:
        images, _ = draw_images()
        return {"arrays": make(**options, threads=threads).fit(images).transform(images)}

    return run
