"""The registry of codes, by the value of ``--codes``.

The command line, ``extract``, ``compress``, ``compare --codes``, ``plan``, the tables of the
documentation and the contract tests iterate over `CODES`. A new code is one file with its class
(see `myriad.codes.code.Code`), its test, and one entry here; an entry may also be added from
outside the package::

    CODES["mine"] = MyCodeSpec()

This module imports nothing heavy: the help of the command is built from it. The functions
that learn codes are imported when they are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from myriad.codes.spec import CodeSpec, Source
from myriad.errors import InputError, did_you_mean
from myriad.options import Option, flat_values, option, options_of, select_options

if TYPE_CHECKING:
    from myriad.codes.code import Code
    from myriad.codes.spec import RowMap
    from myriad.parallel import LearningContext

ROTATIONS = ("none", "random", "opq")
"""How rows may be rotated before product quantisation."""
BINS = (2, 4, 8, 16, 32)
"""Numbers of equal bins that the range of a feature may be divided into."""


@dataclass(frozen=True, kw_only=True)
class ProductOptions:
    """The options of product codes."""

    rotation: str = option(
        "none",
        choices=ROTATIONS,
        help="pq: rotation of rows before quantisation: none, random or opq (learned).",
    )


@dataclass(frozen=True, kw_only=True)
class SelectionOptions:
    """The options of codes that keep the most informative features."""

    keep: float | None = option(
        None,
        above=0,
        maximum=1,
        help="bits, presence, hadamard, none: fraction of features to keep, instead of --ratio.",
    )
    bins: int | None = option(
        None,
        help="bits, hadamard, none: number of bins for estimating mutual information: "
        f"{', '.join(map(str, BINS[:-1]))} or {BINS[-1]}.",
        default_text="the sign",
    )

    def __post_init__(self) -> None:
        if self.bins is not None and self.bins not in BINS:
            known = ", ".join(map(str, BINS))
            raise InputError(f"--bins must be one of {known}, not {self.bins}.")


@dataclass(frozen=True, kw_only=True)
class BilinearOptions:
    """The options of bilinear codes."""

    random: bool = option(False, help="bilinear: use random projections instead of learned ones.")
    reshape: str | None = option(
        None,
        default_text="near a square",
        help="bilinear: shape of the matrix that a row is reshaped to, such as 128x2048.",
    )
    subtract_mean: bool = option(
        False, help="bilinear: subtract the mean of the rows before projecting."
    )

    def __post_init__(self) -> None:
        parts = () if self.reshape is None else self.reshape.lower().split("x")
        if self.reshape is not None and not (
            len(parts) == 2 and all(part.isdecimal() and int(part) for part in parts)
        ):
            raise InputError(f"--reshape must be two numbers such as 128x2048: {self.reshape!r}.")

    @property
    def shape(self) -> tuple[int, int] | None:
        """The shape of a row as a matrix; None to choose it."""
        if self.reshape is None:
            return None
        d1, d2 = self.reshape.lower().split("x")
        return int(d1), int(d2)


@dataclass(frozen=True, init=False)
class CodeOptions:
    """The options of a code: which one to learn, and how.

    Attributes
    ----------
    codes : the `CodeSpec.word` of a code; any of its names is accepted.
    ratio : how many times smaller rows become, at least; None for the default of the code.
    own : instance of `CodeSpec.options`, the options that belong to the code.
    """

    codes: str = option("pq", help="Code of the rows")
    ratio: float | None = option(
        None, minimum=1, below=1e9, help="Minimum compression ratio of coded rows."
    )
    own: Any = None

    def __init__(self, codes: str = "pq", ratio: float | None = None, **own: Any) -> None:
        spec = find_code(codes)
        object.__setattr__(self, "codes", spec.word)
        object.__setattr__(
            self, "ratio", options_of(CodeOptions)["ratio"].parse(ratio, name="--ratio")
        )
        kinds = {entry.name: entry.options for entry in CODES.values()}
        own_options = select_options(kinds, spec.name, own, flag="--codes")
        object.__setattr__(self, "own", own_options)
        spec.check(self)

    @property
    def spec(self) -> CodeSpec:
        """The entry of the code in the registry."""
        return find_code(self.codes)

    def to_plan(self) -> dict[str, Any]:
        """Return the options as a store states them in its plan."""
        return {"codes": self.codes, "ratio": self.ratio} | _IN_EVERY_PLAN | flat_values(self.own)


_IN_EVERY_PLAN = {"keep": None, "rotation": "none", "bins": None, "random": False}
"""Options that the plan of every compressed store states, whatever its code."""


def code_options() -> dict[str, Option]:
    """Return the options that belong to single codes, those of all codes in one list."""
    return {name: o for spec in CODES.values() for name, o in options_of(spec.options).items()}


def find_code(word: str) -> CodeSpec:
    """Return the entry of a code by its name, an alias, or its name in stores.

    Raises `InputError` where there is no such code.
    """
    for spec in CODES.values():
        if word in (spec.name, spec.word, *spec.aliases):
            return spec
    hint = did_you_mean(word, CODES)
    raise InputError(f"--codes must be one of {', '.join(CODES)}, not {word!r}.{hint}")


def code_name(kind: str) -> str:
    """Return the name of a code that users see, given its name in a store."""
    return next((spec.name for spec in CODES.values() if spec.word == kind), kind)


class ProductSpec(CodeSpec):
    """Product codes, optionally of rotated rows [GP, CC]."""

    name = "pq"
    description = "the nearest of up to 256 centroids for every 8 features"
    options = ProductOptions
    by_region = True
    min_vectors = 1024
    compared = True

    def learn(self, source: Source, options: CodeOptions, context: LearningContext) -> Code:
        """Learn codebooks of the length and size that just meet the ratio."""
        from myriad.codes.product import choose_product
        from myriad.codes.rotated import learn_rotated

        d, bits = choose_product(source.sample.shape[1], options.ratio or self.ratio)
        rotation = options.own.rotation
        return learn_rotated(
            source.sample,
            rotation=rotation,
            d=d,
            bits=bits,
            period=source.period,
            context=context,
        )

    def estimate_work(self, dim: int, regions: int) -> float:
        """Return the work of k-means: 5 rounds over 4,096 sub-vectors for each book of 256."""
        books = -(-dim // 8) // regions
        return 2 * books * 5 * 4096 * 256 * 8  # short products run at half the speed

    def estimate(self, dim: int, period: int) -> Code:
        """Return random codebooks: encoding takes the same time with any."""
        from myriad.codes.product import draw_product

        return draw_product(dim, period)


class SelectionSpec(CodeSpec):
    """The base class of codes that keep the features most informative about the class."""

    options = SelectionOptions
    uses_information = True
    needs_labels = True
    otherwise: ClassVar[str] = "all of them"

    def count_features(self, dim: int, options: CodeOptions) -> int:
        """Return how many features to keep."""
        if options.own.keep is not None:
            return max(1, round(options.own.keep * dim))
        return super().count_features(dim, options)

    def bins(self, options: CodeOptions) -> int | None:
        """Return the number of bins that the user has set."""
        bins: int | None = options.own.bins
        return bins

    def check(self, options: CodeOptions) -> None:
        """Raise `InputError` if both options set the number of features."""
        super().check(options)
        if options.own.keep is not None and options.ratio is not None:
            raise InputError("--keep and --ratio both set the number of features: give only one.")

    def check_information(self, source: Source, options: CodeOptions) -> None:
        """Raise `InputError` where no feature says anything about the class."""
        if source.information is None or source.information.max() > 0:
            return
        raise InputError(
            "No feature says anything about the class"
            + (" by its sign" if options.own.bins is None else "")
            + f", so none can be chosen: use {self.otherwise}."
        )


class SignSpec(SelectionSpec):
    """Signs of the most informative features [CC, section 3]."""

    name = "bits"
    description = "the signs of the features most informative about the class"
    otherwise = "scalar or pq"
    compared = True

    def learn(self, source: Source, options: CodeOptions, context: LearningContext) -> Code:
        """Select the features and measure their mean magnitudes."""
        from myriad.codes.bits import learn_bits

        count = self.count_features(source.sample.shape[1], options)
        self.check_information(source, options)
        return learn_bits(source.sample, n_bits=count, information=source.information)


class PresenceSpec(SelectionSpec):
    """Signs of the most informative features, and which Gaussians of a region are present."""

    name = "presence"
    description = "as bits, with one more bit per Gaussian and region that marks it as empty"
    otherwise = "scalar or pq"
    compared = True

    def make_row_map(self, source: Source, seed: int) -> RowMap:
        """Return the map to signs that are 0 in empty cells, and the presence of each cell."""
        from myriad.codes.presence import find_cells

        return find_cells(source.sample, source.cells)

    def bins(self, options: CodeOptions) -> int | None:
        """Return the number of bins that separate -1, 0 and 1."""
        return 4

    def count_measured(self, dim: int) -> int:
        """Return the number of features and cells: the presence of a cell is a column too."""
        return dim + 1

    def check(self, options: CodeOptions) -> None:
        """Raise `InputError` if the user has set a number of bins."""
        super().check(options)
        if options.own.bins is not None:
            raise InputError("--bins cannot be combined with presence, which uses the sign.")

    def learn(self, source: Source, options: CodeOptions, context: LearningContext) -> Code:
        """Select the features and measure their mean magnitudes."""
        from myriad.codes.presence import learn_presence

        bits = self.count_features(source.sample.shape[1], options)
        self.check_information(source, options)
        information = source.information
        return learn_presence(source.sample, bits=bits, cells=source.cells, information=information)


class HadamardSpec(SelectionSpec):
    """Signs of randomly rotated rows; older versions called them turned bits."""

    name = "hadamard"
    kind = "turned"
    aliases = ("turned",)
    description = "the signs of the most informative features of the rotated row"
    needs_labels = False
    compared = True

    def make_row_map(self, source: Source, seed: int) -> RowMap:
        """Return the random rotation about the mean of the sample."""
        from myriad.codes.hadamard import draw_rotation

        return draw_rotation(source.sample, seed=seed)

    def learn(self, source: Source, options: CodeOptions, context: LearningContext) -> Code:
        """Draw the rotation and select rotated features."""
        from myriad.codes.hadamard import learn_hadamard

        count = self.count_features(source.sample.shape[1], options)
        self.check_information(source, options)
        information = source.information
        return learn_hadamard(
            source.sample, n_bits=count, information=information, seed=context.seed
        )


class BilinearSpec(CodeSpec):
    """Signs of bilinear projections [CC, section 2]."""

    name = "bilinear"
    description = "the signs of the row as a matrix, projected from both sides"
    options = BilinearOptions
    compared = True

    def learn(self, source: Source, options: CodeOptions, context: LearningContext) -> Code:
        """Learn both projections, or leave them random."""
        from myriad.codes.bilinear import learn_bilinear

        return learn_bilinear(
            source.sample,
            n_bits=self.count_features(source.sample.shape[1], options),
            learned=not options.own.random,
            shape=options.own.shape,
            centred=options.own.subtract_mean,
            context=context,
        )


class ScalarSpec(CodeSpec):
    """Eight bits per feature [CC, LS]."""

    name = "scalar"
    description = "eight bits per feature, evenly spaced over its range"
    ratio = 4.0
    max_ratio = 4.0

    def learn(self, source: Source, options: CodeOptions, context: LearningContext) -> Code:
        """Learn the range of each feature."""
        from myriad.codes.scalar import learn_scalar

        return learn_scalar(source.sample)


class FeaturesSpec(SelectionSpec):
    """The most informative features as float32, or all of them [CC, section 3.3]."""

    name = "none"
    description = "the features most informative about the class, as float32"
    ratio = 1.0

    def count_features(self, dim: int, options: CodeOptions) -> int:
        """Return how many features to keep."""
        if options.own.keep is not None:
            return super().count_features(dim, options)
        return max(1, int(dim / (options.ratio or self.ratio)))

    def learn(self, source: Source, options: CodeOptions, context: LearningContext) -> Code:
        """Select the features."""
        from myriad.codes.chosen import learn_chosen

        count = self.count_features(source.sample.shape[1], options)
        self.check_information(source, options)
        return learn_chosen(source.sample, count=count, information=source.information)


CODES: dict[str, CodeSpec] = {
    spec.name: spec
    for spec in (
        ProductSpec(),
        SignSpec(),
        PresenceSpec(),
        HadamardSpec(),
        BilinearSpec(),
        ScalarSpec(),
        FeaturesSpec(),
    )
}
"""All codes by name; ``"none"`` keeps float32 features."""
