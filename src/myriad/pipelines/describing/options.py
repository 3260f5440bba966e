"""The options of how images become rows, in a module that imports nothing heavy.

The command line reads them from here: the options that all signatures share, those of single
signatures, and the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from myriad.codes.registry import CODES, CodeOptions, find_code
from myriad.errors import InputError
from myriad.options import Option, flat_values, option, options_of, same_option
from myriad.signatures.registry import (
    AUTO,
    POOLED,
    SignatureOptions,
    is_network,
    signature_options,
)

if TYPE_CHECKING:
    from myriad.images import SeveralLabels


@dataclass(frozen=True)
class ExtractOptions(SignatureOptions):
    """How images become rows; see `SignatureOptions` for the options of the signature.

    Attributes
    ----------
    codes : a name in `myriad.codes.CODES`, the code of the rows; ``"none"`` keeps float32, `AUTO`
        is the code that suits the signature.
    ratio : how many times smaller coded rows are; None for the default of the code.
    augment : a word of `AUGMENTATIONS`: further views of training images as rows of their own.
    cache : whether rows of networks are kept for other runs, and taken from earlier ones.
    max_bad : the maximum fraction of bad images.
    every : seconds between the frames of video files; None to ignore videos.
    multi_label, label_separator : whether an image may have several lines in a manifest, and what
        separates the labels in one cell; see `myriad.images.SeveralLabels`.
    """

    codes: str = option(AUTO, help="Code of the rows")
    ratio: float | None = same_option(CodeOptions, "ratio")
    augment: str = option(
        "none",
        choices=("none", "mirror", "crops"),
        help="Augmentation of training images: none, mirror (horizontal flip) or crops (four).",
    )
    cache: bool = option(True, help="Reuse cached network features of unchanged images.")
    max_bad: float = option(
        0.05, minimum=0, maximum=1, help="Maximum fraction of bad (unreadable) images."
    )
    every: float | None = option(
        None,
        above=0,
        help="Read video files too: seconds from one frame to the next, which are one group.",
    )
    multi_label: bool = option(
        False,
        help="Images may have several labels, one per line: a manifest may repeat their paths.",
    )
    label_separator: str | None = option(
        None, help="Images may have several labels, separated by this text in a cell of a manifest."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        known = options_of(ExtractOptions)
        known["max_bad"].parse(self.max_bad, name="--max-bad")
        known["augment"].parse(self.augment, name="--augment")
        known["every"].parse(self.every, name="--every")
        if self.label_separator == "":
            raise InputError("--label-separator must not be empty.")
        if self.codes != AUTO:
            object.__setattr__(self, "codes", find_code(self.codes).word)
        if self.codes == "none" and self.ratio is not None:
            raise InputError("--ratio belongs to codes; with --codes none rows stay as they are.")
        _ = self.coding

    @property
    def coding(self) -> CodeOptions:
        """The requested code, or the default of the signature.

        The rows of networks stay float32 unless a ratio is stated: they are short.
        """
        codes = self.codes
        if codes == AUTO:
            codes = self.spec.codes if self.ratio is None else CodeOptions().codes
        return CodeOptions(codes, self.ratio)

    @property
    def several(self) -> SeveralLabels:
        """How manifests state several labels of an image."""
        from myriad.images import SeveralLabels

        return SeveralLabels(self.multi_label, self.label_separator)

    @property
    def added_views(self) -> tuple[int, ...]:
        """The views that training images have beside themselves."""
        return AUGMENTATIONS[self.augment]

    @property
    def flags(self) -> list[str]:
        """The flags of the options whose value is not the default."""
        shared = options_of(ExtractOptions).items()
        names = [name for name, o in shared if getattr(self, name) != o.default]
        return [f"--{name.replace('_', '-')}" for name in dict.fromkeys([*names, *self.stated])]

    def to_plan(self) -> dict[str, Any]:
        """Return the options as a store states them in its plan.

        The fraction of bad images is left out: a run that found too many can be resumed with a
        higher limit. The options of a network are in its fingerprint.
        """
        own = {} if is_network(self.signature) else flat_values(self.own)
        stated = {
            "signature": self.signature,
            "components": self.components,
            "regions": self.regions,
            "step": self.step,
            "codes": self.codes,
            "descriptor": self.descriptor,
            "contrast": self.contrast,
            "root": self.root,
            "whiten": self.whiten,
        }
        augmented = {} if self.augment == "none" else {"augment": self.augment}
        return stated | _IN_EVERY_PLAN | own | {"ratio": self.ratio} | augmented


SEVERAL = ("multi_label", "label_separator")
"""The options for images with several labels."""
AUGMENTATIONS = {"none": (), "mirror": (1,), "crops": (2, 3, 4, 5)}
"""The views that are added to an image, see `myriad.images.augmentation`, by ``--augment``."""
_IN_EVERY_PLAN = {"weights": False, "soft": False, "map": "hellinger", "within": False}
"""Options that the plan of every store of images states, whatever its signature."""


def make_extract_options(given: dict[str, Any]) -> ExtractOptions:
    """Return the options from a flat list, those of single signatures among them."""
    own = {name: value for name, value in given.items() if name in signature_options()}
    known = options_of(ExtractOptions)
    shared = {
        name: known[name].parse(value, name=known[name].flag)
        for name, value in given.items()
        if name not in own
    }
    return ExtractOptions(**shared, own=own)


def extraction_options() -> dict[str, Option]:
    """Return all options of how images become rows in one flat list, as the command shows them."""
    shared = options_of(ExtractOptions)
    first = ("signature", *POOLED)
    last = ("codes", "ratio", "augment", "cache", "max_bad", "every", *SEVERAL)
    return (
        {name: shared[name] for name in first}
        | signature_options()
        | {name: shared[name] for name in last}
    )


def default_ratios() -> str:
    """Return the default ratios of the codes as the help shows them."""
    usual = CODES["pq"].ratio
    others = [f"{s.name} {s.ratio:g}" for s in CODES.values() if s.ratio not in (usual, 1.0)]
    return "; ".join([f"{usual:g}", *others])
