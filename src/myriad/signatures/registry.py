"""The registry of signatures, by the value of ``--signature``.

The command line, ``extract``, ``plan``, the tables of the documentation and the contract tests
iterate over `SIGNATURES`. A new signature is one file with its class (see
`myriad.signatures.signature.Signature`) and what learns it, its test, and one entry here; an entry
may also be added from outside the package::

    SIGNATURES["mine"] = MySignatureSpec()

This module imports nothing heavy: the help of the command is built from it. The functions
that learn or open signatures are imported when they are called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from myriad.descriptors.registry import GridOptions, SiftOptions, find_descriptor
from myriad.errors import InputError, did_you_mean
from myriad.options import Option, flat_values, option, options_of, same_option, select_options
from myriad.signatures.own_options import NetworkOptions, merge_options
from myriad.signatures.spec import (
    BagOfWordsSpec,
    EfficientNetLite0Spec,
    EfficientNetLite1Spec,
    EfficientNetLite2Spec,
    FisherSpec,
    HistogramSpec,
    NetworkSpec,
    OnnxSpec,
    SignatureSpec,
    VladSpec,
)

if TYPE_CHECKING:
    from myriad.parallel import LearningContext
    from myriad.signatures.signature import Signature
    from myriad.signatures.spec import Images

AUTO = "auto"
"""The value for a signature that is chosen by cross-validation on some of the images."""
NETWORK, FISHER = "efficientnet-lite0+efficientnet-lite2", "fisher"
"""The candidates of ``auto``, whose combination is the third."""
TRIED_WEIGHTS = (0.5, 0.25, 1.0)
"""The weights that ``auto*`` chooses among; the first where there are no labels to choose by."""
MAX_OPEN_WEIGHTS = 2
POOLED = ("components", "regions", "step", "descriptor", "contrast", "root", "whiten")
"""The options that all signatures of local descriptors share; networks have none of them."""


@dataclass(frozen=True)
class SignatureOptions:
    """How images are described.

    Attributes
    ----------
    signature : a value of ``--signature``: a name in `SIGNATURES`, with ``:FILE`` if needed;
        several with ``+`` between them, each after its weight and ``*`` if that is not 1; or
        `AUTO`. A weight of ``auto`` is chosen by cross-validation. After a ``:``, a signature of
        local descriptors names its own, as in ``fisher:colour``.
    components : Gaussians of the mixture or words of the vocabulary; None for the signature's own
        default.
    regions : of the spatial pyramid, 1, 4 or 8.
    step : pixels from one patch to the next.
    descriptor : a name in `myriad.descriptors.DESCRIPTORS`.
    contrast, root : how SIFT is normalised; see `myriad.descriptors.SiftOptions`.
    whiten : whether projected descriptors are divided by their standard deviation.
    own : options that belong to single signatures: values by name, then an instance of
        `SignatureSpec.options`.
    """

    signature: str = option(AUTO, help="Image signature, or several joined by +")
    components: int | None = option(
        None,
        minimum=1,
        maximum=65536,
        help="Gaussians (fisher), words (bov, vlad) or textons (histograms) of the vocabulary.",
    )
    regions: int = option(4, help="Regions of the spatial pyramid: 1, 4 or 8.")
    step: int = same_option(GridOptions, "step")
    descriptor: str = option("sift", help="Local descriptor of a patch")
    contrast: float = same_option(SiftOptions, "contrast")
    root: bool = same_option(SiftOptions, "root")
    whiten: bool = option(
        False, help="Whiten projected descriptors: divide by their standard deviation."
    )
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
            kinds[self.signature] = spec.options
            own = select_options(kinds, self.signature, given, flag="--signature")
            object.__setattr__(self, "own", own)
        if self.is_open:
            _ = self.candidates

    @property
    def spec(self) -> SignatureSpec:
        """The entry of the signature in the registry."""
        return find_signature(self.signature)

    @property
    def is_open(self) -> bool:
        """Whether the signature, or a weight in it, is left to be chosen by cross-validation."""
        return self.signature == AUTO or None in _weights_in(self.signature)

    @property
    def file(self) -> Path:
        """The file of a signature such as ``onnx:FILE``."""
        return Path(self.signature.partition(":")[2])

    @property
    def described_by(self) -> str:
        """The local descriptor: that of a signature such as ``fisher:colour``, else the option."""
        return self.signature.partition(":")[2] or self.descriptor

    @property
    def stated(self) -> list[str]:
        """The options whose value is not the default, the signature itself aside."""
        own = {option.name: option.default for option in options_of(type(self.own)).values()}
        values = flat_values(self)
        shared = {name: options_of(SignatureOptions)[name].default for name in POOLED}
        return [name for name, default in shared.items() if values[name] != default] + [
            name for name, value in flat_values(self.own).items() if value != own[name]
        ]

    @property
    def candidates(self) -> tuple[str, ...]:
        """The signatures that are chosen among, the cheapest first.

        For `AUTO`, all of them if no option is stated, else the cheapest that has all the stated
        options. Raises `InputError` where none has. For open weights, one for each weight tried.
        """
        if self.signature != AUTO:
            return _try_weights(self.signature)
        words = (NETWORK, FISHER, f"{NETWORK}+{FISHER}")
        if not self.stated:
            return words
        for word in words:
            spec = find_signature(word)
            known = {*options_of(spec.options), *(POOLED if spec.components else ())}
            if known.issuperset(self.stated):
                return (word,)
        named = ", ".join(f"--{name.replace('_', '-')}" for name in self.stated)
        raise InputError(f"{named}: say which --signature they are for.")

    def choose(self, word: str) -> Self:
        """Return the same options for another signature, without those it does not have."""
        known = options_of(find_signature(word).options)
        own = {name: value for name, value in flat_values(self.own).items() if name in known}
        components = self.components if find_signature(word).components else None
        return replace(self, signature=word, own=own, components=components)

    def learning(self, context: LearningContext) -> dict[str, Any]:
        """Return the arguments that all functions which learn a vocabulary share."""
        descriptor = find_descriptor(self.described_by)
        return {
            "regions": self.regions,
            "whiten": self.whiten,
            "descriptor": descriptor.make(
                **{name: getattr(self, name) for name in descriptor.options}
            ),
            "seed": context.seed,
            "threads": context.threads,
            "workers": context.workers,
            "progress": context.progress,
        }


class AutomaticSpec(SignatureSpec):
    """A signature that is chosen later; where there are no labels to choose by, the network."""

    name = AUTO
    description = "chosen by cross-validation: a network, Fisher vectors, or both"

    @property
    def components(self) -> int | None:  # type: ignore[override]
        """The default of Fisher vectors, so that the option is accepted."""
        return SIGNATURES[FISHER].components

    @property
    def options(self) -> type:  # type: ignore[override]
        """The options of all signatures."""
        return merge_options(spec.options for spec in SIGNATURES.values())

    def learn(
        self, images: Images, options: SignatureOptions, context: LearningContext
    ) -> Signature:
        """Return the first candidate."""
        chosen = options.choose(options.candidates[0])
        return chosen.spec.learn(images, chosen, context)


@dataclass(frozen=True)
class CombinedSpec(SignatureSpec):
    """Several signatures side by side, made from a word such as ``fisher+0.5*fisher:colour``.

    Attributes
    ----------
    words, weights : the signatures and the weight of each, None if it is left open.
    """

    words: tuple[str, ...]
    weights: tuple[float | None, ...]

    name = "combined"
    description = "several signatures side by side"

    @property
    def parts(self) -> list[SignatureSpec]:
        """The entries of the signatures."""
        return [find_signature(word) for word in self.words]

    @property
    def options(self) -> type:  # type: ignore[override]
        """The options of all of them."""
        return merge_options(part.options for part in self.parts)

    @property
    def components(self) -> int | None:  # type: ignore[override]
        """The largest default of the signatures."""
        return max((part.components or 0 for part in self.parts), default=0) or None

    @property
    def codes(self) -> str:  # type: ignore[override]
        """The code of the first signature whose rows are coded; each has its own."""
        found = [part.codes for part in self.parts]
        return next((codes for codes in found if codes != "none"), "none")

    def count_features(self, signature: Signature, n_images: int) -> int:
        """Return the length of the rows of all of them."""
        parts = zip(self.parts, signature.parts, strict=True)  # type: ignore[attr-defined]
        return sum(spec.count_features(part, n_images) for spec, part in parts)

    def open(self, options: SignatureOptions) -> Signature | None:
        """Return the combination if nothing has to be learned, else None."""
        opened = [options.choose(word).spec.open(options.choose(word)) for word in self.words]
        parts = tuple(part for part in opened if part is not None)
        return self._combine(parts) if len(parts) == len(opened) else None

    def learn(
        self, images: Images, options: SignatureOptions, context: LearningContext
    ) -> Signature:
        """Open or learn each of them."""
        parts = []
        for word in self.words:
            one = options.choose(word)
            parts.append(one.spec.open(one) or one.spec.learn(images, one, context))
        return self._combine(tuple(parts))

    def _combine(self, parts: tuple[Signature, ...]) -> Signature:
        from myriad.signatures.combined import CombinedSignature

        weights = tuple(TRIED_WEIGHTS[0] if w is None else w for w in self.weights)
        return CombinedSignature(parts, weights, self.words)


AUTOMATIC = AutomaticSpec()
SIGNATURES: dict[str, SignatureSpec] = {
    spec.name: spec
    for spec in (
        FisherSpec(),
        BagOfWordsSpec(),
        VladSpec(),
        HistogramSpec(),
        EfficientNetLite0Spec(),
        EfficientNetLite1Spec(),
        EfficientNetLite2Spec(),
        OnnxSpec(),
    )
}
"""All signatures by name."""


def find_signature(word: str) -> SignatureSpec:
    """Return the entry of a signature by the value of ``--signature``.

    Raises `InputError` where there is no such signature.
    """
    if word == AUTO:
        return AUTOMATIC
    terms = split_word(word)
    if len(terms) > 1:
        words = tuple(name for name, _ in terms)
        if AUTO in words:
            raise InputError(f"--signature {word}: {AUTO} cannot be combined.")
        return CombinedSpec(words, tuple(weight for _, weight in terms))
    name, colon, descriptor = word.partition(":")
    spec = SIGNATURES.get(name)
    if spec is not None and colon and spec.takes_descriptor:
        find_descriptor(descriptor, flag=f"--signature {word}: the descriptor")
    elif spec is None or bool(colon) != spec.takes_file:
        *first, last = [entry.word for entry in SIGNATURES.values()]
        known = f"{AUTO}, {', '.join(first)} or {last}"
        raise InputError(
            f"--signature must be one of {known}, or several of them with + between, not {word!r}."
            + did_you_mean(word, SIGNATURES)
        )
    return spec


def split_word(word: str) -> list[tuple[str, float | None]]:
    """Return the signatures that a value of ``--signature`` names, each with its weight.

    A weight that is left open is None. A ``+`` in the name of a file does not separate: what
    follows it names no signature.
    """
    terms: list[tuple[str, float | None]] = []
    for text in word.split("+"):
        before, times, after = text.partition("*")
        name = after if times else text
        if terms and name.partition(":")[0] not in (*SIGNATURES, AUTO) and ":" in terms[-1][0]:
            terms[-1] = (f"{terms[-1][0]}+{text}", terms[-1][1])
            continue
        terms.append((name, _parse_weight(before, word) if times else 1.0))
    if len(terms) == 1 and "*" in word.partition(":")[0]:
        raise InputError(f"--signature {word}: a weight needs a second signature, as in a+0.5*b.")
    return terms


def _weights_in(word: str) -> list[float | None]:
    return [weight for _, weight in split_word(word)]


def _try_weights(word: str) -> tuple[str, ...]:
    """Return a value of ``--signature`` with each of the weights tried where one is left open."""
    terms = split_word(word)
    n_open = _weights_in(word).count(None)
    if n_open > MAX_OPEN_WEIGHTS:
        raise InputError(
            f"--signature {word}: at most {MAX_OPEN_WEIGHTS} weights can be {AUTO}, not {n_open}."
        )
    words = []
    for tried in product(TRIED_WEIGHTS, repeat=n_open):
        left = iter(tried)
        weights = [next(left) if weight is None else weight for _, weight in terms]
        named = zip((name for name, _ in terms), weights, strict=True)
        words.append("+".join(name if w == 1 else f"{w:g}*{name}" for name, w in named))
    return tuple(words)


def _parse_weight(text: str, word: str) -> float | None:
    if text == AUTO:
        return None
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight <= 1000:
        raise InputError(
            f"--signature {word}: a weight must be {AUTO}, or a number above 0 and at most 1000, "
            f"not {text!r}."
        )
    return weight


def signature_options() -> dict[str, Option]:
    """Return the options that belong to single signatures, those of all in one list."""
    return {name: o for spec in SIGNATURES.values() for name, o in options_of(spec.options).items()}


def is_network(word: str) -> bool:
    """Return whether a value of ``--signature`` names one or several networks.

    Networks are opened and not learned.
    """
    try:
        return all(isinstance(find_signature(name), NetworkSpec) for name, _ in split_word(word))
    except InputError:
        return False


def open_network(word: str, *options: NetworkOptions) -> Signature:
    """Return one or several networks, such as ``efficientnet-lite0`` or ``onnx:FILE``.

    Options that none of the networks has are ignored.
    """
    if not is_network(word):
        raise InputError(f"{word} is not a network.")
    spec = find_signature(word)
    given = {name: value for one in options for name, value in flat_values(one).items()}
    own = {name: value for name, value in given.items() if name in options_of(spec.options)}
    opened = spec.open(SignatureOptions(word, own=own))
    assert opened is not None
    return opened
