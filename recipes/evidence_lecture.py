"""The section of docs/evidence.md on [LS]: solvers, penalties and training on codes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from evidence_claims import (
    FAILS,
    HOLDS,
    NOT_RUN,
    ONE_SEED,
    OURS,
    UNDECIDED,
    Claim,
    compare_seeds,
    count_tested,
    describe_origin,
    format_claims,
    format_table,
    give_verdict,
    least_points,
    read,
    show_range,
)


def list_sizes(cells: dict[str, Any], part: str) -> list[int]:
    """Return the numbers of images per class for which a part was run."""
    return sorted({int(name.split("/")[-1]) for name in cells if name.startswith(f"{part}/")})


def table_of_solvers(cells: dict[str, Any]) -> str:
    """Return processor seconds and top-1 of the solvers by the number of images per class."""
    lines = dict.fromkeys(name.split("/")[1] for name in cells if name.startswith("solvers/"))
    rows, sizes = [], list_sizes(cells, "solvers")
    for line in lines:
        found = [cells.get(f"solvers/{line}/{size}") for size in sizes]
        rows.append([line, *(f"{c['seconds']:.1f} / {c['top1']:.1f}" if c else "–" for c in found)])
    header = [f"{size} images per class" for size in sizes]
    return format_table(["seconds / top-1", *header], rows)


def claims_of_solvers(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims on SGD beside batch solvers."""
    for ours, batch, paper in (
        ("SGD one-vs-rest", "LIBLINEAR dual", "1.7 to 37 times (LibSVM)"),
        ("SGD one-vs-rest", "dual", OURS),
        ("SGD multiclass", "LIBLINEAR crammer-singer", "0.8 to 4 times (SVM-light)"),
        ("SGD multiclass", "crammer-singer", OURS),
    ):
        pairs = [
            (cells.get(f"solvers/{ours}/{size}"), cells.get(f"solvers/{batch}/{size}"))
            for size in list_sizes(cells, "solvers")
        ]
        known = [(a, b) for a, b in pairs if a and b]
        times = [b["seconds"] / max(a["seconds"], 0.01) for a, b in known]
        claim = f"{ours} takes less time than {batch}"
        claim += ", our own solver" if paper == OURS else ""
        text = show_range(times, ".1f", " times")
        verdict = NOT_RUN if not times else HOLDS if min(times) > 1 else FAILS
        yield claim, paper, text, verdict
        gains = [a["top1"] - b["top1"] for a, b in known]
        text = show_range(gains, "+.1f")
        verdict = NOT_RUN if not gains else HOLDS if min(gains) > -ONE_SEED else FAILS
        if verdict == FAILS and min(gains) > -max(ONE_SEED, least_points(cells)):
            verdict = UNDECIDED
        claim = f"{ours} is as accurate as {batch} (top-1)"
        yield claim, OURS if paper == OURS else "competitive", text, verdict


def claims_of_penalties(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims on the trace norm, on rows of photographs, and on codes."""
    compare = partial(compare_seeds, tested=count_tested(cells))
    for size in list_sizes(cells, "penalties"):
        found = {
            name: cells.get(f"penalties/{name}/{size}")
            for name in ("one-vs-rest", "L2 softmax", "trace norm")
        }
        for base in ("one-vs-rest", "L2 softmax"):
            claim = f"the trace norm is ahead of {base} ({size} images per class, top-1)"
            ours, other = found["trace norm"], found[base]
            gains = [ours["top1"] - other["top1"]] if ours and other else []
            yield claim, "ahead", *compare(gains)
        cell = cells.get(f"codes/{size}")
        lost = [cell["codes, plain"] - cell["plain, plain"]] if cell else []
        claim = f"training on product codes costs a point at most ({size} images per class)"
        yield claim, "−0.9", *compare(lost, least=-1.0)


def claims_of_lecture() -> Iterator[Claim]:
    """Yield the claims of [LS]."""
    few = read("trace-few").get("few", [])
    gains = [row["trace_top1"] - max(row["l2_top1"], row["l2_minimum_top1"]) for row in few]
    shown = ", ".join(f"{gain:+.1f}" for gain in gains)
    claim = "the trace norm is ahead of L2 softmax where classes share directions (drawn rows)"
    yield (
        claim,
        "ahead",
        *give_verdict(min(gains, default=None), min(gains, default=0) > 0, shown),
    )
    store = read("trace-scene15").get("store", {})
    gains = [store["trace_top1"] - store["l2_minimum_top1"]] if store else []
    claim = "the trace norm is ahead of L2 softmax on photographs (Scene 15, Fisher vectors)"
    yield claim, "ahead", *compare_seeds(gains)
    predict = read("trace-predict").get("predict", [])
    fast = min((row["speed_up"] for row in predict), default=None)
    claim = "a model of low rank predicts faster (500 and 10,000 classes, rank 20)"
    yield claim, OURS, *give_verdict(fast, (fast or 0) > 1, f"{fast or 0:.0f} times and more")


def list_parts() -> Iterator[str]:
    """Yield the parts of the section."""
    found = read("large_scale_learning")
    cells = found.get("cells", {})
    yield "## [LS] Large-scale learning"
    if cells:
        yield (
            f"`recipes/large_scale_learning.py`: images of {found['data']}, "
            f"{found['classes']} classes, Fisher vectors of 4,096 features, one seed. Processor "
            "seconds of one training with settings found before, and top-1 over samples. "
            f"{describe_origin(cells)}"
        )
        yield table_of_solvers(cells)
    yield format_claims([*claims_of_solvers(cells), *claims_of_penalties(cells)])
    files = {name: read(name) for name in ("trace-few", "trace-scene15", "trace-predict")}
    yield (
        "Low rank, `benchmarks/trace.py`, one split; differences of top-1 accuracy. "
        + describe_origin({name: file for name, file in files.items() if file})
    )
    yield format_claims(claims_of_lecture())
