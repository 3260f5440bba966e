"""``myriad train``: images or a store to a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.accuracies import print_accuracies
from myriad.cli.choices import (
    Cluster,
    Codes,
    Components,
    DataArgument,
    DescriptorName,
    HistogramMap,
    MaxBad,
    Memory,
    Objective,
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
from myriad.cli.methods import (
    Adagrad,
    Average,
    Balanced,
    Batch,
    Beta,
    Dim,
    Discriminant,
    Ensemble,
    Epochs,
    Eta,
    Gauge,
    Index,
    K,
    Lam,
    LastViolators,
    Loss,
    Margin,
    MaxNorm,
    RankWeight,
    Rounds,
    Sampling,
    Scale,
    ScheduleName,
    SubspaceEvery,
    Tol,
    Variant,
)
from myriad.cli.reporting import write_html
from myriad.cli.tables import print_facts, print_summary
from myriad.cli.text import format_bytes, format_seconds, parse_bytes
from myriad.cli.verb import Run, verb

if TYPE_CHECKING:
    from myriad.pipelines.train import Trained


@dataclass(frozen=True)
class Result:
    """A trained model and its report."""

    trained: Trained
    report: Path

    def to_json(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return self.trained.to_json() | {"report": str(self.report)}


def show(result: Result, run: Run) -> None:
    """Print accuracies, how they came about, and what to do next."""
    trained = result.trained
    print_accuracies(trained.validation, part="val")
    settings = ", ".join(f"{name} {value}" for name, value in trained.settings.items())
    print_facts(
        {
            "Settings": settings,
            "Passes": trained.fitted.epochs,
            "Training": format_seconds(trained.seconds_training),
            "Model size": format_bytes(trained.model_bytes),
        }
    )
    commands = [("myriad", "evaluate", trained.model, "DATA")]
    if trained.store.recipe is not None:
        commands.insert(0, ("myriad", "predict", trained.model, "IMAGE"))
    print_summary(
        {"Model": trained.model, "Report": result.report, "Rows": trained.store.path}, commands
    )


@verb(show=show, writes=True, resumes=True)
def train(
    data: DataArgument,
    out: Annotated[Path, typer.Option(help="The model folder to write.", show_default=False)],
    store: Annotated[
        Path | None,
        typer.Option(help="Where rows made from images are kept; by default OUT.store."),
    ] = None,
    objective: Objective = "ovr",
    loss: Loss = None,
    beta: Beta = None,
    eta: Eta = None,
    lam: Lam = None,
    scale: Scale = None,
    balanced: Balanced = None,
    schedule: ScheduleName = None,
    epochs: Epochs = None,
    gauge: Gauge = None,
    batch: Batch = None,
    subspace_every: SubspaceEvery = None,
    k: K = None,
    variant: Variant = None,
    tol: Tol = None,
    dim: Dim = None,
    margin: Margin = None,
    discriminant: Discriminant = None,
    sampling: Sampling = None,
    rank_weight: RankWeight = None,
    last_violators: LastViolators = None,
    adagrad: Adagrad = None,
    average: Average = None,
    max_norm: MaxNorm = None,
    ensemble: Ensemble = None,
    index: Index = None,
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
    rounds: Rounds = None,
    memory: Memory = None,
    cluster: Cluster = None,
    *,
    run: Run,
) -> Result:
    """Train a model on images or on a store."""
    from myriad.pipelines.extract import ExtractOptions
    from myriad.pipelines.train import train as work
    from myriad.signatures import OnnxOptions
    from myriad.training import OFFERS, make_method

    onnx = OnnxOptions(onnx_size, onnx_mean, onnx_deviation, onnx_output)
    method = make_method(
        OFFERS,
        objective,
        seed=run.seed,
        loss=loss,
        beta=beta,
        eta=eta,
        lam=lam,
        scale=scale,
        balanced=balanced,
        schedule=schedule,
        epochs=epochs,
        gauge=gauge,
        batch=batch,
        subspace_every=subspace_every,
        k=k,
        variant=variant,
        tol=tol,
        dim=dim,
        margin=margin,
        discriminant=discriminant,
        sampling=sampling,
        rank_weight=rank_weight,
        last_violators=last_violators,
        adagrad=adagrad,
        average=average,
        max_norm=max_norm,
        ensemble=ensemble,
        index=index,
        rounds=rounds,
    )
    extracting = ExtractOptions(
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
    trained = work(
        data,
        out,
        store=store,
        extracting=extracting,
        method=method,
        threads=run.threads,
        cluster=cluster,
        memory=None if memory is None else parse_bytes(memory, "--memory"),
        overwrite=run.overwrite,
        resume=run.resume,
        progress=run.progress,
    )
    return Result(trained, write_html(trained.evidence, out / "report.html", run.progress))
