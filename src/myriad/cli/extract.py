"""``myriad extract``: images to a store of coded rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.choices import (
    Cluster,
    Codes,
    Components,
    DescriptorName,
    HistogramMap,
    ImagesArgument,
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
from myriad.cli.tables import print_facts, print_summary
from myriad.cli.text import format_bytes, format_seconds
from myriad.cli.verb import Run, verb

if TYPE_CHECKING:
    from myriad.pipelines.extract import Extracted


def show(extracted: Extracted, run: Run) -> None:
    """Print what was extracted."""
    store = extracted.store
    print_facts(
        {
            "Rows": store.n_rows,
            "Bad images": len(store.bad),
            "Features": store.dim,
            "Bytes a row": store.bytes_per_row,
            "Size": format_bytes(store.n_rows * store.bytes_per_row),
            "Time": format_seconds(extracted.seconds),
        }
    )
    place = store.path if store.path.name else store.path.resolve()
    model = place.with_suffix(".model")
    print_summary({"Store": store.path}, [("myriad", "train", store.path, "--out", model)])


@verb(show=show, writes=True, resumes=True)
def extract(
    images: ImagesArgument,
    out: Annotated[Path, typer.Option(help="The store to write.", show_default=False)],
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
    cluster: Cluster = None,
    *,
    run: Run,
) -> Extracted:
    """Turn images into a store of rows to train on."""
    from myriad.pipelines.extract import ExtractOptions
    from myriad.pipelines.extract import extract as work
    from myriad.signatures import OnnxOptions

    onnx = OnnxOptions(onnx_size, onnx_mean, onnx_deviation, onnx_output)
    options = ExtractOptions(
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
        onnx=onnx,
    )
    return work(
        images,
        out,
        options=options,
        seed=run.seed,
        threads=run.threads,
        cluster=cluster,
        overwrite=run.overwrite,
        resume=run.resume,
        progress=run.progress,
    )
