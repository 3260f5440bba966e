"""``myriad plan``: time, disk and memory of a job, before it starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from myriad.cli.shared_options import Extraction, choose_extraction
from myriad.cli.tables import print_facts, print_table
from myriad.cli.text import format_bytes, format_days, parse_bytes
from myriad.cli.verb import verb
from myriad.errors import InputError, did_you_mean
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.planning.plan import Planned


MOST_WORKERS = 1_000_000
read_described = choose_extraction("signature", "components", "regions", "step", "codes")


def show(planned: Planned, run: Run) -> None:
    """Print the steps of the job and advice."""
    papers = any(step.paper for step in planned.rows)
    columns = ["Step", "Time", "Disk", "Memory", *(["In the paper"] if papers else [])]
    print_table(
        columns,
        [
            [
                step.step,
                format_days(step.seconds),
                format_bytes(step.disk) if step.disk else None,
                format_bytes(step.memory),
                *([step.paper or ""] if papers else []),
            ]
            for step in planned.rows
        ],
        right=("Time", "Disk", "Memory"),
    )
    machine = planned.machine
    print()
    print_facts(
        {
            "Rows": f"{planned.job.images:,} of {planned.dim:,} features",
            "Bytes per row": planned.bytes_per_row,
            "Workers": planned.job.workers or machine.cores,
            "Matrix products": f"{machine.sgemm / 1e9:.1f} billion multiply-adds per second "
            "and core",
            "Disk": f"reads {format_bytes(machine.read)}, writes {format_bytes(machine.write)} "
            "per second",
        }
    )
    for sentence in planned.advice:
        print(sentence)
    if planned.clusters:
        print()
        print_table(
            ["Workers", "Time", "Efficiency", "Limited by"],
            [
                [
                    f"{scaled.workers:,}",
                    format_days(scaled.seconds),
                    f"{100 * scaled.efficiency:.0f} %",
                    f"{scaled.limit} ({100 * scaled.share:.0f} %)",
                ]
                for scaled in planned.clusters
            ],
            right=("Workers", "Time", "Efficiency"),
        )


def read_counts(text: str | None) -> list[int]:
    """Return the numbers of workers that a text such as ``1,8,64`` states."""
    words = [] if text is None else text.split(",")
    try:
        counts = [int(word) for word in words]
    except ValueError:
        counts = [0]
    if any(not 1 <= count <= MOST_WORKERS for count in counts):
        raise InputError(
            f"--workers must be a number from 1 to {MOST_WORKERS:,}, or several such as 1,8,64, "
            f"not {text!r}."
        )
    return counts


@verb(show=show, lists={"extracting": read_described})
def plan(
    *,
    like: Annotated[
        str | None,
        typer.Option(help="A job of the papers: imagenet10k or web97k.", show_default=False),
    ] = None,
    images: Annotated[
        int | None,
        typer.Option(min=1, help="Number of images, or of rows with --dim.", show_default=False),
    ] = None,
    classes: Annotated[int | None, typer.Option(min=2, help="Classes.", show_default=False)] = None,
    pixels: Annotated[int, typer.Option(min=64, help="Number of pixels per image.")] = 100_000,
    dim: Annotated[
        int | None,
        typer.Option(min=1, help="Number of features of existing rows.", show_default=False),
    ] = None,
    extracting: Extraction,
    objective: Annotated[
        str,
        typer.Option(help="Training objective: ovr, multiclass, ranking, warp, softmax or trace."),
    ] = "ovr",
    beta: Annotated[float, typer.Option(help="Negatives per positive of ovr.")] = 64.0,
    negatives: Annotated[
        int | None,
        typer.Option(
            min=1, help="Wrong classes drawn for each row of softmax.", show_default="all"
        ),
    ] = None,
    average: Annotated[bool, typer.Option("--average", help="Average the weights.")] = False,
    epochs: Annotated[int, typer.Option(min=1, help="Number of epochs.")] = 20,
    workers: Annotated[
        str | None,
        typer.Option(help="Number of cores, here or on a cluster; or several, such as 1,8,64,512."),
    ] = None,
    network: Annotated[
        str, typer.Option(help="With several --workers: network bandwidth per machine and second.")
    ] = "1.25GB",
    shared: Annotated[
        str,
        typer.Option(
            help="With several --workers: bandwidth of the shared file system per second."
        ),
    ] = "2GB",
    stragglers: Annotated[
        float,
        typer.Option(
            help="With several --workers: standard deviation of task times, relative to the mean."
        ),
    ] = 0.1,
    memory: Annotated[
        str | None,
        typer.Option(help="Available memory, such as 16GB.", show_default="this machine's"),
    ] = None,
    disk: Annotated[
        str | None,
        typer.Option(help="Available disk space, such as 2TB.", show_default="free space here"),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Benchmark this machine again.")
    ] = False,
    run: Run,
) -> Planned:
    """Estimate the time, disk and memory of a job before it starts.

    Example: myriad plan --classes 1000 --images 1000000
    """
    import shutil

    from myriad.pipelines.planning.clusters import Cluster, plan_clusters
    from myriad.pipelines.planning.plan import LIKE, Job
    from myriad.pipelines.planning.plan import plan as work

    papers: dict[str, str] = {}
    if like is not None:
        if like not in LIKE:
            raise InputError(
                f"--like must be one of {', '.join(LIKE)}, not {like!r}." + did_you_mean(like, LIKE)
            )
        if images or classes or dim:
            raise InputError("--like sets --images, --classes and --dim: leave these out.")
        known, papers = LIKE[like]
        images, classes, dim = known.images, known.classes, known.dim
        objective = known.objective if objective == "ovr" else objective
    if images is None or classes is None:
        raise InputError("State --images and --classes, or a job of the papers with --like.")
    counts = read_counts(workers)
    cluster = Cluster(
        parse_bytes(network, "--network"), parse_bytes(shared, "--shared"), stragglers
    )
    job = Job(
        images=images,
        classes=classes,
        pixels=pixels,
        dim=dim,
        extracting=extracting(),
        objective=objective,
        beta=beta,
        negatives=negatives,
        average=average,
        epochs=epochs,
        workers=1 if len(counts) > 1 else (*counts, run.threads)[0],
    )
    planned = work(
        job,
        memory=None if memory is None else parse_bytes(memory, "--memory"),
        disk=shutil.disk_usage(Path()).free if disk is None else parse_bytes(disk, "--disk"),
        papers=papers,
        again=measure,
        progress=run.progress,
    )
    if len(counts) > 1:
        return replace(planned, clusters=plan_clusters(planned, counts, cluster))
    return planned
