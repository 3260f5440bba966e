"""The entries of the registry of signatures: what is known of each before it is learned or opened.

This module imports nothing heavy: the help of the command is built from it. The functions
that learn or open signatures are imported when they are called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from myriad.signatures.own_options import (
    BagOfWordsOptions,
    EfficientNetOptions,
    FisherOptions,
    NetworkOptions,
    NoOptions,
    OnnxOptions,
    VladOptions,
)

if TYPE_CHECKING:
    from myriad.arrays import Bytes
    from myriad.descriptors import ImageCollection
    from myriad.parallel import LearningContext
    from myriad.signatures.networks.backbone import Backbone
    from myriad.signatures.registry import SignatureOptions
    from myriad.signatures.signature import Signature

    Images = Iterable[Bytes] | ImageCollection


class SignatureSpec(ABC):
    """An entry of the registry: what is known of a signature before it is learned or opened.

    Attributes
    ----------
    name : the value of ``--signature``.
    description : one line for the help and the documentation.
    options : dataclass of its own options, each a field declared with `myriad.options.option`.
    components : default number of Gaussians or words; None for a signature without vocabulary.
    takes_file : whether the word is followed by ``:FILE``.
    takes_descriptor : whether the word may be followed by ``:DESCRIPTOR``, a local descriptor.
    codes : the code of its rows by default, a name in `myriad.codes.CODES`.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    options: ClassVar[type] = NoOptions
    components: ClassVar[int | None] = None
    takes_file: ClassVar[bool] = False
    takes_descriptor: ClassVar[bool] = False
    codes: ClassVar[str] = "pq"

    @property
    def word(self) -> str:
        """The value of ``--signature`` as the help shows it."""
        return f"{self.name}:FILE" if self.takes_file else self.name

    def open(self, options: SignatureOptions) -> Signature | None:
        """Return the signature if nothing has to be learned, else None."""
        return None

    def count_features(self, signature: Signature, n_images: int) -> int:
        """Return the length of rows of this signature if it is learned from a number of images."""
        return signature.dim

    @abstractmethod
    def learn(
        self, images: Images, options: SignatureOptions, context: LearningContext
    ) -> Signature:
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
    takes_descriptor = True

    def learn(
        self, images: Images, options: SignatureOptions, context: LearningContext
    ) -> Signature:
        """Learn the PCA and the mixture."""
        from myriad.signatures.fisher import learn_fisher

        return learn_fisher(
            images,
            n_components=options.components or self.components,
            weights=options.own.weights,
            coordinates=options.own.coordinates,
            **options.learning(context),
        )


class BagOfWordsSpec(SignatureSpec):
    """Bags of visual words [GP, LS]."""

    name = "bov"
    description = "counts of each visual word, a typical patch"
    options = BagOfWordsOptions
    components = 1024
    takes_descriptor = True

    def learn(
        self, images: Images, options: SignatureOptions, context: LearningContext
    ) -> Signature:
        """Learn the PCA, the words and, if the map needs it, the kernel PCA."""
        from myriad.signatures.bov import learn_bov

        size, own = options.components or self.components, options.own
        shared = options.learning(context)
        return learn_bov(images, n_words=size, soft=own.soft, map=own.map, **shared)


class VladSpec(SignatureSpec):
    """Vectors of locally aggregated descriptors."""

    name = "vlad"
    description = "differences of patches from each visual word, summed"
    options = VladOptions
    components = 256
    takes_descriptor = True

    def learn(
        self, images: Images, options: SignatureOptions, context: LearningContext
    ) -> Signature:
        """Learn the PCA and the words."""
        from myriad.signatures.vlad import learn_vlad

        size, within = options.components or self.components, options.own.within
        return learn_vlad(images, n_words=size, within=within, **options.learning(context))


class HistogramSpec(SignatureSpec):
    """Histograms of colours and textons [HM 8.2]."""

    name = "histograms"
    description = "counts of colours and textons at several scales, then kernel PCA"
    components = 256
    codes = "none"

    def learn(
        self, images: Images, options: SignatureOptions, context: LearningContext
    ) -> Signature:
        """Learn the textons and the kernel PCA."""
        from myriad.signatures.histograms import learn_histograms

        size, shared = options.components or self.components, options.learning(context)
        return learn_histograms(images, n_words=size, step=options.step, **shared)

    def count_features(self, signature: Signature, n_images: int) -> int:
        """Return the number of components: of a centred kernel, fewer than there are images."""
        from myriad.signatures.bov import KERNEL_PCA_DIM

        return max(1, min(KERNEL_PCA_DIM, n_images - 1))


class NetworkSpec(SignatureSpec):
    """The base of networks, which are opened and not learned."""

    options = NetworkOptions
    codes = "none"

    @abstractmethod
    def open(self, options: SignatureOptions) -> Backbone:
        """Return the network."""

    def learn(
        self, images: Images, options: SignatureOptions, context: LearningContext
    ) -> Signature:
        """Return the network as it is."""
        return self.open(options)


class EfficientNetSpec(NetworkSpec):
    """EfficientNet-Lite, trained on ImageNet."""

    options = EfficientNetOptions

    def open(self, options: SignatureOptions) -> Backbone:
        """Return the network; its weights are those of an installed package."""
        from myriad.signatures.networks.efficientnet import make_efficientnet

        own = options.own
        return make_efficientnet(
            self.name,
            size=own.size,
            views=own.views,
            layers=own.layers,
            precision=own.precision,
        )


class EfficientNetLite0Spec(EfficientNetSpec):
    """EfficientNet-Lite0."""

    name = "efficientnet-lite0"
    description = "the embedding of EfficientNet-Lite0, trained on ImageNet"


class EfficientNetLite1Spec(EfficientNetSpec):
    """EfficientNet-Lite1."""

    name = "efficientnet-lite1"
    description = "the embedding of EfficientNet-Lite1, a larger network"


class EfficientNetLite2Spec(EfficientNetSpec):
    """EfficientNet-Lite2."""

    name = "efficientnet-lite2"
    description = "the embedding of EfficientNet-Lite2, the largest of the three"


class OnnxSpec(NetworkSpec):
    """A network of the user's own."""

    name = "onnx"
    description = "the embedding of a network in an ONNX file"
    options = OnnxOptions
    takes_file = True

    def open(self, options: SignatureOptions) -> Backbone:
        """Return the network in the file."""
        from myriad.signatures.networks.onnx_file import read_onnx

        return read_onnx(options.file, options.own)
