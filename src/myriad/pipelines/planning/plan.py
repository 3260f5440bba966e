"""The time, disk and memory that every step of a job will take on this machine.

Rates are measured (see `machine`), sizes are counted; both are multiplied out. Memory is private
memory beyond what the program itself takes; rows of a store are mapped and not counted.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from threadpoolctl import threadpool_limits

from myriad.codes import BlockCode, Code, FloatCode
from myriad.errors import InputError
from myriad.images.splitting import VALIDATION
from myriad.parallel import LearningContext
from myriad.pipelines.describing.code_learning import CODE_BYTES, CODE_VECTORS, list_blocks
from myriad.pipelines.describing.extract import VOCABULARY_IMAGES, ExtractOptions
from myriad.pipelines.describing.image_rows import describe_one
from myriad.pipelines.describing.signature_choice import count_compared
from myriad.pipelines.planning.clusters import Scaled
from myriad.pipelines.planning.drawn_images import DrawnImages, draw_image
from myriad.pipelines.planning.epoch_timing import Epochs, measure_speed
from myriad.pipelines.planning.machine import Machine, load_or_measure_machine, repeat
from myriad.progress import SILENT, Progress
from myriad.signatures import Signature
from myriad.signatures.learning import SAMPLE
from myriad.store.shards import SHARD_BYTES
from myriad.training import SGD, AtomDescent
from myriad.training.sgd.search import count_together, grid, plan_rungs, rung_epochs
from myriad.vocabularies.expectation import ROUNDS

SAMPLE_BYTES = 1024
"""Bytes that a descriptor takes while a vocabulary is learned."""
SIDE_BY_SIDE = 0.9
"""Speed of each further core or machine relative to the first, where they share nothing."""
BESIDE = 4 << 20
"""Bytes that training takes beside weights and rows: scores, targets, threads."""
PLANNED = ("ovr", "multiclass", "ranking", "warp", "softmax", "trace")


@dataclass(frozen=True)
class Job:
    """The job to be planned.

    Attributes
    ----------
    images : images, or rows if `dim` is given.
    classes : classes.
    pixels : of an image, as it is read.
    dim : features of ready-made rows; None if rows are made from images.
    extracting : how images become rows.
    objective : what is trained.
    beta : negatives per positive of ``ovr``.
    negatives : wrong classes drawn for each row of ``softmax``; None for all.
    average : average the weights.
    epochs : number of epochs.
    workers : cores that do the work; None for those of this machine.
    """

    images: int
    classes: int
    pixels: int = 100_000
    dim: int | None = None
    extracting: ExtractOptions = field(default_factory=ExtractOptions)
    objective: str = "ovr"
    beta: float = 64.0
    negatives: int | None = None
    average: bool = False
    epochs: int = 20
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.objective not in PLANNED:
            raise InputError(
                f"--objective {self.objective} cannot be planned: plan one of "
                f"{', '.join(PLANNED)}, and time this one on some of the rows."
            )
        for name in ("images", "classes", "pixels", "epochs", "workers", "dim"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"--{name} must be at least 1, not {value}.")
        if self.classes < 2:
            raise InputError(f"--classes must be at least 2, not {self.classes}.")
        if not self.beta > 0:
            raise InputError(f"--beta must be positive, not {self.beta}.")
        if self.negatives is not None and self.objective != "softmax":
            raise InputError(f"--negatives belongs to softmax, not to {self.objective}.")
        if self.average and self.objective == "trace":
            raise InputError("--average belongs to SGD, not to trace.")


@dataclass(frozen=True)
class Step:
    """One line of a plan: seconds, and bytes of disk and memory."""

    step: str
    seconds: float
    disk: float
    memory: float
    paper: str | None = None


LIKE: dict[str, tuple[Job, dict[str, str]]] = {
    "imagenet10k": (
        Job(images=9_000_000, classes=10_184),
        {
            "extract": "250 CPU days [GP, 5.3]",
            "train": "400 CPU days of w-OVR, 500 of WAR [GP, 5.3]",
        },
    ),
    "web97k": (
        Job(images=40_000_000, classes=96_812, dim=1024, objective="warp"),
        {"train": "one month [HM, 8.3]"},
    ),
}
"""Jobs of the papers, and what they cost there."""


@dataclass(frozen=True)
class Planned:
    """A plan.

    Attributes
    ----------
    dim, bytes_per_row : of a row of the store.
    paces : multiply-adds a second of each kind of epochs that training makes, of all cores here.
    rows : its steps, the whole last.
    advice : what to change if it does not fit.
    clusters : the time on several numbers of workers, if they are wanted.
    """

    job: Job
    machine: Machine
    paces: dict[str, float]
    dim: int
    bytes_per_row: int
    rows: list[Step]
    advice: list[str]
    clusters: list[Scaled] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``plan`` prints."""
        return {
            "rows": [asdict(step) for step in self.rows],
            "advice": self.advice,
            "job": asdict(self.job),
            "machine": asdict(self.machine),
            "paces": self.paces,
            "dim": self.dim,
            "bytes_per_row": self.bytes_per_row,
            "clusters": [scaled.to_json() for scaled in self.clusters],
        }


def plan(
    job: Job,
    *,
    memory: int | None = None,
    disk: int | None = None,
    papers: dict[str, str] | None = None,
    again: bool = False,
    progress: Progress = SILENT,
) -> Planned:
    """Return what a job will take.

    Parameters
    ----------
    memory, disk : bytes that there are; by default the machine's memory, and any disk.
    papers : what steps cost elsewhere.
    again : measure the machine again.
    """
    machine = load_or_measure_machine(again=again, progress=progress)
    n_workers = job.workers or machine.cores
    speed = _speed(machine, n_workers)
    steps: list[Step] = []
    if job.dim is None:
        with progress.step("Timing the description of an image"), threadpool_limits(limits=1):
            signature, code, seconds = time_describing(job)
        learned_from = min(job.images, VOCABULARY_IMAGES)
        dim = likely_options(job.extracting).spec.count_features(signature, learned_from)
        row_bytes = code.bytes_per_row if code else 4 * dim
        steps += plan_extraction(job, machine, dim, row_bytes, seconds, speed, n_workers)
    else:
        dim, row_bytes = job.dim, 4 * job.dim
    here = min(n_workers, machine.cores)
    paces = measure_speeds(job, dim, here, again=again, progress=progress)
    steps += plan_training(job, machine, paces, dim, row_bytes, n_workers)
    whole = Step(
        "in all",
        sum(step.seconds for step in steps),
        sum(step.disk for step in steps),
        max(step.memory for step in steps),
    )
    named = {step.step: step for step in [*steps, whole]}
    rows = [
        Step(**(asdict(step) | {"paper": (papers or {}).get(name)})) for name, step in named.items()
    ]
    advice = advise(job, rows, memory or machine.memory, disk, dim)
    return Planned(job, machine, paces, dim, row_bytes, rows, advice)


def time_describing(job: Job) -> tuple[Signature, Code | None, float]:
    """Return a signature and a code of the job's sizes, and the seconds that an image takes."""
    options = likely_options(job.extracting)
    height = max(8, round(math.sqrt(job.pixels * 0.75)))
    shape = (height, max(8, job.pixels // height))
    drawn = DrawnImages([draw_image(shape, seed) for seed in range(6)])
    context = LearningContext(threads=1)
    signature = options.spec.open(options) or options.spec.learn(drawn, options, context)
    codes = [
        FloatCode(block.signature.dim)
        if block.coding.codes == "none"
        else block.coding.spec.estimate(block.signature.dim, block.signature.period)
        for block in list_blocks(signature, options)
    ]
    code: Code | None = codes[0] if len(codes) == 1 else BlockCode(tuple(codes))
    if all(isinstance(one, FloatCode) for one in codes):
        code = None
    image = drawn.read(0, colour=signature.colour)
    return signature, code, repeat(lambda: describe_one(image, signature, code), seconds=0.5)


def likely_options(options: ExtractOptions) -> ExtractOptions:
    """Return the options with a signature: of ``auto``, the first candidate."""
    return options.choose(options.candidates[0]) if options.is_open else options


def plan_extraction(
    job: Job,
    machine: Machine,
    dim: int,
    row_bytes: int,
    seconds: float,
    speed: float,
    n_workers: int,
) -> list[Step]:
    """Return the steps from images to a store; `seconds` is what one image takes."""
    options = likely_options(job.extracting)
    steps = []
    if job.extracting.is_open and len(job.extracting.candidates) > 1:
        compared = count_compared(job.images)
        steps.append(
            Step("choose the signature", 2 * compared * seconds / speed, 0, compared * 4 * dim * 8)
        )
    size = options.components or options.spec.components or 0
    if size:
        sampled = min(VOCABULARY_IMAGES, job.images)
        n_descriptors = min(SAMPLE, sampled * 1000)
        products = ROUNDS * n_descriptors * size * 64 * 4
        learning = sampled * seconds + products / machine.sgemm
        memory = n_descriptors * SAMPLE_BYTES
        steps.append(Step("learn the vocabulary", learning / speed, 0, memory))
    spec = options.coding.spec
    if spec.name != "none":
        shared = options.regions if spec.by_region else 1
        vectors = min(-(-CODE_VECTORS // shared), CODE_BYTES // (4 * dim), job.images)
        work = spec.estimate_work(dim, options.regions) / machine.sgemm
        steps.append(
            Step("learn the codes", (vectors * seconds + work) / speed, 0, 2 * vectors * 4 * dim)
        )
    buffers = n_workers * 32 * (row_bytes + 4 * dim / 8) + 2 * SHARD_BYTES
    code_bytes = (n_workers + 1) * 256 * 4 * dim / options.regions
    writing = job.images * row_bytes / machine.write
    steps.append(
        Step(
            "extract",
            max(job.images * seconds / speed, writing),
            job.images * row_bytes,
            buffers + (code_bytes if spec.by_region else 0),
        )
    )
    return steps


def measure_speeds(
    job: Job, dim: int, threads: int, *, again: bool, progress: Progress
) -> dict[str, float]:
    """Return the multiply-adds per second of each kind of epochs of a job."""
    if job.objective == "trace":
        return {}
    kinds = {epochs.kind: epochs for epochs in [*_grid(job, dim), _epochs(job, dim, job.beta)]}
    return {
        kind: measure_speed(epochs, threads, again=again, progress=progress)
        for kind, epochs in kinds.items()
    }


def plan_training(
    job: Job, machine: Machine, paces: dict[str, float], dim: int, row_bytes: int, n_workers: int
) -> list[Step]:
    """Return the steps from a store to a model; `paces` are those of one machine."""
    speed = _speed(machine, n_workers)
    if job.objective == "trace":
        return [plan_path(job, machine, dim, row_bytes, speed)]
    weights = 4.0 * job.classes * dim
    epochs, grid = _epochs(job, dim, job.beta), _grid(job, dim)
    chunks = max(_count_chunks(some) for some in (epochs, *grid))
    copies = epochs.cost.copies
    n_train = job.images * (1 - VALIDATION)
    machines = _machines(machine, n_workers)
    memory = SGD(objective=job.objective).memory
    together = min(len(grid), count_together(memory, job.classes, dim))
    mean = sum(some.work / paces[some.kind] for some in grid) / machines / len(grid)
    rungs = plan_rungs(len(grid), int(n_train), job.classes, dim, memory=memory, epochs=job.epochs)
    searching = mean * sum(rung.n_candidates * rung.n_rows * rung.epochs for rung in rungs)
    n_epochs = max(1, job.epochs - rung_epochs(job.epochs)[-1])
    read = job.images * row_bytes / machine.read if row_bytes * job.images > machine.memory else 0
    row = epochs.work / paces[epochs.kind] / machines
    row += dim / machine.decode / speed if row_bytes < 4 * dim else 0
    validating = VALIDATION * job.images * job.classes * dim / machine.sgemm / speed
    epoch = max(n_train * row + validating, read)
    return [
        Step("search the settings", searching, 0, weights * (1 + copies * together) + chunks),
        Step("train", n_epochs * epoch, weights, (1 + copies) * weights + _count_chunks(epochs)),
    ]


def plan_path(job: Job, machine: Machine, dim: int, row_bytes: int, speed: float) -> Step:
    """Return the training step of ``trace``; rows that exceed the memory are read each time."""
    cost = AtomDescent.cost(job.classes, dim)
    products = cost.multiply_adds / machine.sgemm
    products += dim / machine.decode if row_bytes < 4 * dim else 0
    read = job.images * row_bytes / machine.read if row_bytes * job.images > machine.memory else 0
    seconds = max(job.images * (1 - VALIDATION) * products / speed, read)
    return Step("train", cost.gradients * seconds, cost.model_bytes, cost.memory)


def _count_chunks(epochs: Epochs) -> float:
    """Return the bytes of four chunks of rows and their products, plus a constant.

    One chunk is trained on, two are being prepared, and one has just been freed.
    """
    layout = epochs.cost.layout
    copies = 1 + layout.grams
    return 4.0 * copies * layout.count_rows(epochs.dim) * 4 * epochs.dim + BESIDE


def _epochs(job: Job, dim: int, beta: float) -> Epochs:
    chosen = beta if job.objective == "ovr" else None
    return Epochs(job.objective, job.classes, dim, chosen, job.negatives, job.average)


def _grid(job: Job, dim: int) -> list[Epochs]:
    """Return the epochs of each setting that the search tries."""
    settings = grid(SGD(objective=job.objective), job.classes, 1.0)
    return [_epochs(job, dim, setting.beta or math.inf) for setting in settings]


def _speed(machine: Machine, n_workers: int) -> float:
    """Return the speed-up of a number of workers over one core, for independent tasks."""
    here = min(n_workers, machine.cores)
    return (1 + SIDE_BY_SIDE * (here - 1)) * _machines(machine, n_workers)


def _machines(machine: Machine, n_workers: int) -> float:
    """Return the speed-up over this machine, if workers are on as many machines as they need."""
    here = min(n_workers, machine.cores)
    return 1 + SIDE_BY_SIDE * (n_workers / here - 1)


def advise(job: Job, rows: list[Step], memory: int, disk: int | None, dim: int) -> list[str]:
    """Return what to change if a step needs more memory or disk than there is."""
    advice = []
    for step in rows[:-1]:
        if step.memory <= memory:
            continue
        share = memory / step.memory
        if step.step in ("search the settings", "train"):
            how = "state --eta and --beta to train one setting alone, or " * (step.step != "train")
            advice.append(
                f"To {step.step} takes {_gigabytes(step.memory)} of memory, mostly "
                f"{job.classes:,} x {dim:,} weights: {how}use rows of at most "
                f"{max(1, int(dim * share)):,} features (fewer --components or --regions)."
            )
        else:
            advice.append(
                f"To {step.step} takes {_gigabytes(step.memory)} of memory: use fewer workers "
                "(--threads) or fewer --components."
            )
    needed = rows[-1].disk
    if disk is not None and needed > disk:
        coded = job.dim is None and likely_options(job.extracting).coding.codes == "none"
        how = "--codes pq makes rows 32 times smaller" if coded else "use fewer --components"
        advice.append(f"The disk must hold {_gigabytes(needed)}: {how}.")
    return advice


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"
