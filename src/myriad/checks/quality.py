"""Images of little use for training: tiny, huge, blank, dark, bright, blurred or nearly empty.

The bounds were set on training images of Scene 15, Caltech-101 and Tiny-ImageNet, of which none of
1,500 is beyond them, and on blurred copies of them: of those blurred by a Gaussian of 3 % of the
shorter side, 99 % are.
"""

from __future__ import annotations

from collections.abc import Sequence

from myriad.images.facts import Header, Quality

TINY_SIDE = 32
"""Pixels of the shorter side below which an image is tiny."""
HUGE_PIXELS = 40_000_000
BLANK_RANGE = 12.0
"""Grey values between the dark and the bright end below which an image is blank."""
DARK_BELOW, BRIGHT_ABOVE = 50.0, 205.0
BLURRED_BELOW = 0.012
EMPTY_BELOW = 0.6
"""Bits of entropy of the grey values below which an image has little content."""
USUAL = 0.1
"""Fraction of all images above which a kind of fault is considered normal for the data."""

KINDS = {
    "tiny": f"the shorter side has fewer than {TINY_SIDE} pixels",
    "huge": f"more than {HUGE_PIXELS // 1_000_000} million pixels, which are slow to read",
    "blank": "one even colour",
    "dark": "nearly black",
    "bright": "nearly white",
    "blurred": "out of focus or enlarged from few pixels",
    "empty": "little content",
}
"""The kinds of faults of an image, and their descriptions."""


def find_image_faults(header: Header, quality: Quality) -> list[str]:
    """Return the faults of an image: names in `KINDS`, the main one first."""
    faults = []
    if header.width and min(header.width, header.height) < TINY_SIDE:
        faults.append("tiny")
    if header.width * header.height > HUGE_PIXELS:
        faults.append("huge")
    if quality.bright - quality.dark < BLANK_RANGE and quality.entropy < 1.0:
        faults.append("blank")
    elif quality.bright < DARK_BELOW:
        faults.append("dark")
    elif quality.dark > BRIGHT_ABOVE:
        faults.append("bright")
    elif quality.sharpness < BLURRED_BELOW:
        faults.append("blurred")
    elif quality.entropy < EMPTY_BELOW:
        faults.append("empty")
    return faults


def group_image_faults(faults: Sequence[list[str]]) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Return the images with each kind of fault, and the counts of kinds that are usual.

    A data set of drawings has little content in every image, one of thumbnails is tiny throughout:
    a kind that more than one image in ten has is not listed image by image.

    Parameters
    ----------
    faults : the result of `find_image_faults` for each image.
    """
    by_kind = {
        kind: [i for i, found in enumerate(faults) if kind in found]
        for kind in KINDS
        if any(kind in found for found in faults)
    }
    most = max(1.0, USUAL * len(faults))
    odd = {kind: items for kind, items in by_kind.items() if len(items) <= most}
    usual = {kind: len(items) for kind, items in by_kind.items() if len(items) > most}
    return odd, usual
