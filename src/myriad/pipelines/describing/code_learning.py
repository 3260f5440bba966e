"""Learn the code of rows, from a store or from images; several signatures have a code each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.codes import BlockCode, Code, CodeOptions, FloatCode, Source
from myriad.images import ImageList
from myriad.parallel import Executor, LearningContext, open_threads
from myriad.pipelines.describing.image_rows import describe_sample, encode_row
from myriad.pipelines.describing.options import ExtractOptions
from myriad.pipelines.describing.row_cache import RowCache
from myriad.signatures import CombinedSignature, Signature
from myriad.store import ArrayRows, Rows, feature_information

CODE_VECTORS, CODE_BYTES = 4096, 512 << 20
"""Vectors that a code is learned from, and the memory they may take, at most."""
CODED_TOGETHER = 16
"""Rows of the sample that are encoded between two reports of progress."""


def learn_code(
    source: Source, options: CodeOptions, context: LearningContext | None = None
) -> Code:
    """Learn the code that meets the options; it depends on the seed alone, not on the workers."""
    return options.spec.learn(source, options, context or LearningContext())


def measure_information(
    rows: Rows, source: Source, options: CodeOptions, context: LearningContext
) -> NDArray[np.float64] | None:
    """Return the mutual information of each feature with the class; None if the code uses none.

    Parameters
    ----------
    rows : the training rows.
    source : what the code will be learned from.
    context : its seed is that of the code, since the information is that of the features which
        the code rotates rows to.
    """
    spec = options.spec
    if not spec.uses_information:
        return None
    if not spec.needs_labels and not (rows.labels >= 0).any():
        return None
    return feature_information(
        rows,
        bins=spec.bins(options),
        row_map=spec.make_row_map(source, context.seed),
        threads=context.threads,
        workers=context.workers,
        progress=context.progress,
    )


def learn_code_of_images(
    images: ImageList,
    training: NDArray[np.int64],
    signature: Signature,
    options: ExtractOptions,
    executor: Executor,
    context: LearningContext,
    cache: RowCache | None = None,
) -> tuple[Code | None, dict[int, NDArray[np.uint8]]]:
    """Learn a code from the signatures of some training images; None for float32 rows.

    Each of several signatures has a separate code; images are described only by those whose rows
    are coded. Also returns the coded rows of these images by index, if there is one signature.
    """
    blocks = list_blocks(signature, options)
    if not any(block.coded for block in blocks):
        return None, {}
    codes: list[Code] = []
    described: list[int] = []
    for block in blocks:
        if not block.coded:
            codes.append(FloatCode(block.signature.dim))
            continue
        indices = training[: block.count_images()]
        sample = np.zeros((0, block.signature.dim), np.float32)
        if len(indices) >= block.min_images:
            sample, described = describe_sample(
                "Describing a sample",
                images,
                indices,
                block.signature,
                executor,
                context,
                max_bad=options.max_bad,
                cache=cache,
            )
        if len(sample) < block.min_images:
            context.progress.note(
                f"{len(sample) or len(indices)} training images are too few to learn codes from: "
                "rows stay float32."
            )
            return None, {}
        sample *= np.float32(block.share)
        labels = images.labels[described]
        codes.append(_learn_block(sample, labels, images.class_names, block, context))
    if len(codes) > 1:
        return BlockCode(tuple(codes)), {}
    return codes[0], _encode_sample(sample, described, codes[0], context)


@dataclass(frozen=True)
class Block:
    """The columns of one signature, and the options of their code.

    Attributes
    ----------
    share : factor of the rows of the signature in rows of a combined signature.
    """

    signature: Signature
    coding: CodeOptions
    share: float = 1.0

    @property
    def coded(self) -> bool:
        """Whether the rows are coded."""
        return self.coding.codes != "none"

    @property
    def regions(self) -> int:
        """Number of vectors that a row contributes to the sample."""
        by_region = self.coding.spec.by_region
        return self.signature.dim // self.signature.period if by_region else 1

    @property
    def min_images(self) -> int:
        """Minimum number of images that the code is learned from."""
        return -(-self.coding.spec.min_vectors // self.regions)

    def count_images(self) -> int:
        """Return the maximum number of images that the code is learned from."""
        return min(-(-CODE_VECTORS // self.regions), CODE_BYTES // (4 * self.signature.dim))


def list_blocks(signature: Signature, options: ExtractOptions) -> list[Block]:
    """Return the blocks of columns that have a code each: one for each signature."""
    if not isinstance(signature, CombinedSignature):
        return [Block(signature, options.coding)]
    parts = zip(signature.names, signature.parts, signature.shares, strict=True)
    return [Block(part, options.choose(name).coding, share) for name, part, share in parts]


def _learn_block(
    X: Float,
    labels: NDArray[np.int32],
    class_names: list[str],
    block: Block,
    context: LearningContext,
) -> Code:
    """Learn the code of one block from its columns."""
    rows = ArrayRows(X, labels, class_names)
    # The sample is in memory: its information is measured here, not by workers.
    source = Source(rows.X, None, block.signature.period, block.signature.cells)
    information = measure_information(rows, source, block.coding, replace(context, workers=None))
    return learn_code(replace(source, information=information), block.coding, context)


def _encode_sample(
    sample: Float, indices: list[int], code: Code, context: LearningContext
) -> dict[int, NDArray[np.uint8]]:
    """Return the coded rows of described images by index."""
    coded = np.zeros((len(sample), code.bytes_per_row), np.uint8)
    with (
        open_threads(context.threads) as pool,
        context.progress.step("Coding the sample", len(sample), "images") as advance,
    ):

        def encode(n: int) -> None:
            coded[n] = encode_row(sample[n], code)

        for start in range(0, len(sample), CODED_TOGETHER):
            some = range(start, min(start + CODED_TOGETHER, len(sample)))
            pool.share(encode, some)
            advance(len(some))
    return dict(zip(indices, coded, strict=True))
