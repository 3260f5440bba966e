"""The options of how images become rows, one list for all verbs that make rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from myriad.cli.choices import (
    Codes,
    Components,
    DescriptorName,
    HistogramMap,
    MaxBad,
    OnnxDeviation,
    OnnxMean,
    OnnxOutput,
    OnnxSize,
    Ratio,
    Regions,
    Signature,
    Soft,
    Step,
    Weights,
    Whiten,
    Within,
)

if TYPE_CHECKING:
    from myriad.pipelines.extract import ExtractOptions

Extraction = Callable[..., "ExtractOptions"]
"""What gives a verb the options of this list, checked; what it is called with goes before."""


def read_extraction(
    signature: Signature = "fisher",
    components: Components = None,
    regions: Regions = 4,
    step: Step = 6,
    descriptor: DescriptorName = "sift",
    whiten: Whiten = False,
    weights: Weights = False,
    soft: Soft = False,
    map: HistogramMap = "hellinger",
    within: Within = False,
    codes: Codes = "pq",
    ratio: Ratio = None,
    max_bad: MaxBad = 0.05,
    onnx_size: OnnxSize = None,
    onnx_mean: OnnxMean = "imagenet",
    onnx_deviation: OnnxDeviation = "imagenet",
    onnx_output: OnnxOutput = None,
) -> ExtractOptions:
    """Return how images become rows."""
    from myriad.pipelines.extract import ExtractOptions
    from myriad.signatures import OnnxOptions

    return ExtractOptions(
        signature=signature,
        components=components,
        regions=regions,
        step=step,
        codes=codes,
        max_bad=max_bad,
        ratio=ratio,
        descriptor=descriptor,
        whiten=whiten,
        weights=weights,
        soft=soft,
        map=map,
        within=within,
        onnx=OnnxOptions(onnx_size, onnx_mean, onnx_deviation, onnx_output),
    )
