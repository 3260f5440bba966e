"""The registry of signatures: what everything else knows of each, by the word of ``--signature``.

The command line, ``extract``, ``plan``, the tables of the documentation and the contract tests
iterate over `SIGNATURES`. A new signature is one file with its class (see
`myriad.signatures.signature.Signature`) and what learns it, its test, and one entry here; an entry
may also be added from outside the package::

    SIGNATURES["mine"] = MySignatureSpec()

This module imports nothing heavy: the help of the command is built from it. What learns or opens a
signature is imported when it is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from myriad.descriptors.registry import GridOptions, find_descriptor
from myriad.errors import InputError
from myriad.options import Option, flat_values, option, options_of, same_option, select_options

if TYPE_CHECKING:
    from myriad.arrays import Bytes
    from myriad.descriptors import SpreadImages
    from myriad.parallel import LearningContext
    from myriad.signatures.backbone import Backbone
    from myriad.signatures.signature import Signature

    Images = Iterable[Bytes] | SpreadImages

MAPS = ("hellinger", "chi2", "intersection", "intersection-pca")
"""Kernels that the counts of a bag of words may be mapped for."""


@dataclass(frozen=True)
class NoOptions:
    """The options of a signature that has none of its own."""


@dataclass(frozen=True, kw_only=True)
class FisherOptions:
    """The options of Fisher vectors."""

    weights: bool = option(False, help="fisher: add the gradient of the Gaussians' weights.")


@dataclass(frozen=True, kw_only=True)
class BagOfWordsOptions:
    """The options of bags of visual words."""

    soft: bool = option(False, help="bov: let a patch count for several words near it.")
    map: str = option(
        "hellinger",
        choices=MAPS,
        help=f"bov: kernel that counts are mapped for: {', '.join(MAPS)}.",
    )


@dataclass(frozen=True, kw_only=True)
class VladOptions:
    """The options of VLAD."""

    within: bool = option(False, help="vlad: normalise the sum of each word by itself.")


@dataclass(frozen=True)
class OnnxOptions:
    """How images are prepared for a network in an ONNX file.

    Attributes
    ----------
    size : height and width of the input; None for what the file says, else 224.
    mean, deviation : of pixels from 0 to 255: one number, three with commas between them (red,
        green, blue), or a word of `myriad.signatures.onnx_file.NORMS`.
    output : the name of the output to take, or of any value within the network; None for the first
        output.
    """

    size: int | None = option(
        None,
        name="onnx_size",
        minimum=1,
        maximum=4096,
        help="onnx: height and width of the images that the network takes.",
        default_text="as the file says, or 224",
    )
    mean: str = option(
        "imagenet",
        name="onnx_mean",
        help="onnx: mean of pixels from 0 to 255 that is subtracted: one number, three with commas "
        "between, imagenet or clip.",
    )
    deviation: str = option(
        "imagenet",
        name="onnx_deviation",
        help="onnx: standard deviation that is divided by, in the same ways.",
    )
    output: str | None = option(
        None,
        name="onnx_output",
        help="onnx: output of the network to take, or a value inside it.",
        default_text="the first",
    )


@dataclass(frozen=True)
class SignatureOptions:
    """How images are described.

    Attributes
    ----------
    signature : a word of ``--signature``: a name in `SIGNATURES`, with ``:FILE`` if needed.
    components : Gaussians of the mixture or words of the vocabulary; None for the signature's own
        default.
    regions : of the spatial pyramid, 1, 4 or 8.
    step : pixels from one patch to the next.
    descriptor : a name in `myriad.descriptors.DESCRIPTORS`.
    whiten : whether projected descriptors are divided by their standard deviation.
    own : options that belong to the signature: values by name, then an instance of
        `SignatureSpec.options`.
    """

    signature: str = option("fisher", help="Signature of an image")
    components: int | None = option(
        None,
        minimum=1,
        maximum=65536,
        help="Gaussians (fisher) or words (bov, vlad) of the vocabulary.",
    )
    regions: int = option(4, help="Regions of the spatial pyramid: 1, 4 or 8.")
    step: int = same_option(GridOptions, "step")
    descriptor: str = option("sift", help="Local descriptor of a patch")
    whiten: bool = option(False, help="Divide projected descriptors by their standard deviation.")
    own: Any = None

    def __post_init__(self) -> None:
        spec = self.spec
        find_descriptor(self.descriptor)
        if self.components is not None and spec.components is None:
            raise InputError(f"--components: the signature {self.signature} has no vocabulary.")
        if not isinstance(self.own, spec.options):  # a flat list, or of another signature
            given = self.own or {}
            given = given if isinstance(given, Mapping) else flat_values(given)
            kinds = {entry.word: entry.options for entry in SIGNATURES.values()}
            own = select_options(kinds, spec.word, given, flag="--signature")
            object.__setattr__(self, "own", own)

    @property
    def spec(self) -> SignatureSpec:
        """The entry of the signature in the registry."""
        return find_signature(self.signature)

    @property
    def file(self) -> Path:
        """The file of a signature such as ``onnx:FILE``."""
        return Path(self.signature.partition(":")[2])

    def learning(self, context: LearningContext) -> dict[str, Any]:
        """Return the arguments that all functions which learn a vocabulary share."""
        return {
            "regions": self.regions,
            "whiten": self.whiten,
            "descriptor": find_descriptor(self.descriptor).make(step=self.step),
            "seed": context.seed,
            "threads": context.threads,
            "workers": context.workers,
            "progress": context.progress,
        }


class SignatureSpec(ABC):
    """An entry of the registry: what is known of a signature before it is learned or opened.

    Attributes
    ----------
    name : the word of ``--signature``.
    description : one line for the help and the documentation.
    options : dataclass of its own options, each a field declared with `myriad.options.option`.
    components : default number of Gaussians or words; None for a signature without vocabulary.
    takes_file : whether the word is followed by ``:FILE``.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    options: ClassVar[type] = NoOptions
    components: ClassVar[int | None] = None
    takes_file: ClassVar[bool] = False

    @property
    def word(self) -> str:
        """The word of ``--signature`` as the help shows it."""
        return f"{self.name}:FILE" if self.takes_file else self.name

    def open(self, asked: SignatureOptions) -> Signature | None:
        """Return the signature if nothing has to be learned, else None."""
        return None

    @abstractmethod
    def learn(self, images: Images, asked: SignatureOptions, context: LearningContext) -> Signature:
        """Return the signature, learned from images.

        Parameters
        ----------
        images : uint8 images, grey or in colour as the descriptor takes them.
        """


class FisherSpec(SignatureSpec):
    """Fisher vectors [GP 5.1]."""

    name = "fisher"
    description = "differences of patches from each Gaussian of a mixture, in mean and deviation"
    options = FisherOptions
    components = 256

    def learn(self, images: Images, asked: SignatureOptions, context: LearningContext) -> Signature:
        """Learn the PCA and the mixture."""
        from myriad.signatures.fisher import learn_fisher

        size, weights = asked.components or self.components, asked.own.weights
        return learn_fisher(images, n_components=size, weights=weights, **asked.learning(context))


class BagOfWordsSpec(SignatureSpec):
    """Bags of visual words [GP, LS]."""

    name = "bov"
    description = "counts of each visual word, a typical patch"
    options = BagOfWordsOptions
    components = 1024

    def learn(self, images: Images, asked: SignatureOptions, context: LearningContext) -> Signature:
        """Learn the PCA, the words, and the kernel PCA if asked."""
        from myriad.signatures.bov import learn_bov

        size, own = asked.components or self.components, asked.own
        shared = asked.learning(context)
        return learn_bov(images, n_words=size, soft=own.soft, map=own.map, **shared)


class VladSpec(SignatureSpec):
    """Vectors of locally aggregated descriptors."""

    name = "vlad"
    description = "differences of patches from each visual word, summed"
    options = VladOptions
    components = 256

    def learn(self, images: Images, asked: SignatureOptions, context: LearningContext) -> Signature:
        """Learn the PCA and the words."""
        from myriad.signatures.vlad import learn_vlad

        size, within = asked.components or self.components, asked.own.within
        return learn_vlad(images, n_words=size, within=within, **asked.learning(context))


class NetworkSpec(SignatureSpec):
    """The base of networks, which are opened and not learned."""

    @abstractmethod
    def open(self, asked: SignatureOptions) -> Backbone:
        """Return the network."""

    def learn(self, images: Images, asked: SignatureOptions, context: LearningContext) -> Signature:
        """Return the network as it is."""
        return self.open(asked)


class EfficientNetSpec(NetworkSpec):
    """EfficientNet-Lite0, trained on ImageNet."""

    name = "efficientnet-lite0"
    description = "the embedding of EfficientNet-Lite0, trained on ImageNet"

    def open(self, asked: SignatureOptions) -> Backbone:
        """Return the network; its weights are those of an installed package."""
        from myriad.signatures.efficientnet import make_efficientnet

        return make_efficientnet()


class OnnxSpec(NetworkSpec):
    """A network of the user's own."""

    name = "onnx"
    description = "the embedding of a network in an ONNX file"
    options = OnnxOptions
    takes_file = True

    def open(self, asked: SignatureOptions) -> Backbone:
        """Return the network in the file."""
        from myriad.signatures.onnx_file import read_onnx

        return read_onnx(asked.file, asked.own)


SIGNATURES: dict[str, SignatureSpec] = {
    spec.name: spec
    for spec in (FisherSpec(), BagOfWordsSpec(), VladSpec(), EfficientNetSpec(), OnnxSpec())
}
"""All signatures by name."""


def find_signature(word: str) -> SignatureSpec:
    """Return the entry of a signature by the word of ``--signature``.

    Raises `InputError` where there is no such signature.
    """
    name, colon, _ = word.partition(":")
    spec = SIGNATURES.get(name)
    if spec is None or bool(colon) != spec.takes_file:
        *first, last = [entry.word for entry in SIGNATURES.values()]
        known = f"{', '.join(first)} or {last}"
        raise InputError(f"--signature must be one of {known}, not {word!r}.")
    return spec


def signature_options() -> dict[str, Option]:
    """Return the options that belong to single signatures, those of all in one list."""
    return {name: o for spec in SIGNATURES.values() for name, o in options_of(spec.options).items()}


def is_backbone(word: str) -> bool:
    """Return whether a word of ``--signature`` names a network, which is opened and not learned."""
    try:
        return isinstance(find_signature(word), NetworkSpec)
    except InputError:
        return False


def open_backbone(word: str, options: OnnxOptions | None = None) -> Backbone:
    """Return the network called ``efficientnet-lite0`` or ``onnx:FILE``."""
    spec = find_signature(word)
    asked = SignatureOptions(word, own=options if spec.options is OnnxOptions else None)
    if not isinstance(spec, NetworkSpec):
        raise InputError(f"{word} is no network.")
    return spec.open(asked)
