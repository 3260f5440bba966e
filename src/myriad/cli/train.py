"""``myriad train``: images or a store to a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from myriad.cli.accuracies import print_accuracies
from myriad.cli.choices import Cluster, DataArgument, Memory, Objective
from myriad.cli.extraction import Extraction, read_extraction
from myriad.cli.methods import (
    T0,
    Adagrad,
    Average,
    Balanced,
    Batch,
    Beta,
    ConstantWeight,
    Dim,
    Discriminant,
    Ensemble,
    Epochs,
    Eta,
    ExactRank,
    Gauge,
    Index,
    K,
    Lam,
    LastViolators,
    Loss,
    Margin,
    MaxDraws,
    MaxNorm,
    RankWeight,
    Relax,
    Replacement,
    Rounds,
    Sampling,
    Scale,
    ScheduleName,
    SubspaceEvery,
    Theta,
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


@verb(show=show, writes=True, resumes=True, lists={"extracting": read_extraction}, locks=["out"])
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
    relax: Relax = None,
    scale: Scale = None,
    balanced: Balanced = None,
    schedule: ScheduleName = None,
    t0: T0 = None,
    epochs: Epochs = None,
    theta: Theta = None,
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
    replacement: Replacement = None,
    exact_rank: ExactRank = None,
    constant_weight: ConstantWeight = None,
    max_draws: MaxDraws = None,
    last_violators: LastViolators = None,
    adagrad: Adagrad = None,
    average: Average = None,
    max_norm: MaxNorm = None,
    ensemble: Ensemble = None,
    index: Index = None,
    rounds: Rounds = None,
    memory: Memory = None,
    cluster: Cluster = None,
    *,
    extracting: Extraction,
    run: Run,
) -> Result:
    """Train a model on images or on a store."""
    from myriad.pipelines.train import train as work
    from myriad.training import METHODS, make_method

    method = make_method(
        METHODS,
        objective,
        seed=run.seed,
        loss=loss,
        beta=beta,
        eta=eta,
        lam=lam,
        relax=relax,
        scale=scale,
        balanced=balanced,
        schedule=schedule,
        t0=t0,
        epochs=epochs,
        theta=theta,
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
        replacement=replacement,
        exact_rank=exact_rank,
        constant_weight=constant_weight,
        max_draws=max_draws,
        last_violators=last_violators,
        adagrad=adagrad,
        average=average,
        max_norm=max_norm,
        ensemble=ensemble,
        index=index,
        rounds=rounds,
    )
    trained = work(
        data,
        out,
        store=store,
        extracting=extracting(),
        method=method,
        threads=run.threads,
        cluster=cluster,
        memory=None if memory is None else parse_bytes(memory, "--memory"),
        overwrite=run.overwrite,
        resume=run.resume,
        progress=run.progress,
    )
    return Result(trained, write_html(trained.evidence, out / "report.html", run.progress))
