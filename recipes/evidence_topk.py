"""The section of docs/evidence.md on [TK]: Table 1 on Silhouettes, and its claim on CNN rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from evidence_claims import (
    NOT_RUN,
    OURS,
    Claim,
    compare_seeds,
    count_tested,
    describe_origin,
    format_claims,
    format_table,
    give_verdict,
    read,
    read_all,
)

PAPER_DATA = "caltech101_silhouettes_28_split1"
NEAR = 0.7
"""Points within which a row of a deterministic method counts as reproduced."""
SILHOUETTES = {  # [TK, Table 1], Caltech 101 Silhouettes
    "OVA": (61.81, 73.13, 76.25, 77.76, 78.89, 83.57),
    "TopPush": (63.11, 75.16, 78.46, 80.19, 81.97, 86.95),
    "Recall@1": (61.55, 73.13, 77.03, 79.41, 80.97, 85.18),
    "Recall@5": (61.60, 72.87, 76.51, 78.76, 80.54, 84.74),
    "Recall@10": (61.51, 72.95, 76.46, 78.72, 80.54, 84.92),
    "W++, Q=0": (62.68, 76.33, 79.41, 81.71, 83.18, 88.95),
    "W++, Q=1": (59.25, 65.63, 69.22, 71.09, 72.95, 79.71),
    "W++, Q=2": (55.09, 61.81, 66.02, 68.88, 70.61, 76.59),
    "top-1 alpha": (62.81, 74.60, 77.76, 80.02, 81.97, 86.91),
    "top-10 alpha": (62.98, 77.33, 80.49, 82.66, 84.57, 89.55),
    "top-20 alpha": (59.21, 75.64, 80.88, 83.49, 85.39, 90.33),
    "top-10 beta": (64.02, 77.11, 80.49, 83.01, 84.87, 89.42),
    "top-20 beta": (63.37, 77.24, 81.06, 83.31, 85.18, 90.03),
}
CONVERGED = "TopPush, to the gap"
VARIANTS = {
    "OVA": ("OVA, squared hinge",),
    "TopPush": ("TopPush, 350 steps", CONVERGED),
}
"""Rows of ours that stand below a row of the paper."""
RANDOM = "W++"
"""What the names of methods that draw at random begin with: not deterministic."""
LARGE_GAP = 0.01
"""Relative duality gaps above this are stated: the row is not that of the optimum."""
DEPTHS = (1, 2, 3, 4, 5, 10)
COMPARABLE = 2.0
"""Times that are less than so many times as long count as comparable."""


def table_of_silhouettes(cells: dict[str, Any]) -> str:
    """Return Table 1 of [TK] with the paper's row and ours, and how far they are apart."""
    rows = []
    for name, paper in SILHOUETTES.items():
        rows.append([name, "paper", *(f"{number:.2f}" for number in paper), "", ""])
        for line in (name, *VARIANTS.get(name, ())):
            if line in cells:
                rows.append(["" if line == name else line, *compare(cells[line], name)])
            elif line == name:
                rows.append(["", "here", *["–"] * len(paper), "", NOT_RUN])
    header = ["method", "", *(f"top-{depth}" for depth in DEPTHS), "chosen", "verdict"]
    return format_table(header, rows)


def compare(cell: dict[str, Any], name: str) -> list[str]:
    """Return our row of a method, what was chosen, and how far it is from the paper's row."""
    apart = [ours - theirs for ours, theirs in zip(cell["test"], SILHOUETTES[name], strict=True)]
    most = max(apart, key=abs)
    verdict = f"top-1 {apart[0]:+.2f}, at most {most:+.2f}"
    if abs(most) <= NEAR:
        verdict = f"**reproduced**, at most {most:+.2f}"
    if name.startswith(RANDOM):
        verdict += "; random"
    hidden = {"val"} if cell["chosen"].get("gap", 0.0) > LARGE_GAP else {"val", "gap"}
    settings = {n: v for n, v in cell["chosen"].items() if n not in hidden}
    chosen = ", ".join(
        f"{n} {v:.3g}" if isinstance(v, float) else f"{n} {v}" for n, v in settings.items()
    )
    return ["here", *(f"{number:.2f}" for number in cell["test"]), chosen, verdict]


def table_of_rows(cells: dict[str, Any]) -> str:
    """Return the rows of other data than those of [TK]."""
    rows = [[name, *(f"{number:.2f}" for number in cell["test"])] for name, cell in cells.items()]
    return format_table(["method", *(f"top-{depth}" for depth in DEPTHS)], rows)


def table_of_push(cells: dict[str, Any]) -> str:
    """Return how accurate TopPush is on validation rows, and how far from its optimum."""
    rows = [
        [name, step["epoch"], f"{step['top1']:.1f}", f"{step['gap']:.3f}"]
        for name, line in (("weak lam", "TopPush"), ("C 1e-1", "TopPush, 350 steps"))
        for step in cells.get(line, {}).get("path", [])[-6:]
    ]
    for step in cells.get(CONVERGED, {}).get("path", []):
        shown = f"{step['val']:.1f}", f"{step['gap']:.3f}"
        rows.append([f"C 1e{step['C']}, continued", step["epochs"], *shown])
    texts = [[str(value) for value in row] for row in rows]
    return format_table(["TopPush", "steps", "validation top-1", "gap"], texts)


def claims_of_silhouettes(cells: dict[str, Any], *, own: bool) -> Iterator[Claim]:
    """Yield the claims of [TK, Table 1]; all are differences of points of two rows.

    Those on the paper's `own` data, which have one split as well, are judged by the sign.
    """
    for claim, name, base, depth, paper in (
        ("top-10 alpha gains over the multiclass SVM", "top-10 alpha", "top-1 alpha", 5, 2.60),
        ("top-20 alpha gains over the multiclass SVM", "top-20 alpha", "top-1 alpha", 10, 3.42),
        ("top-10 beta gains over the multiclass SVM", "top-10 beta", "top-1 alpha", 5, 2.90),
        ("top-10 beta may raise top-1 as well", "top-10 beta", "top-1 alpha", 1, 1.21),
        ("top-20 alpha costs top-1", "top-20 alpha", "top-1 alpha", 1, -3.60),
        ("top-10 alpha is ahead of TopPush", "top-10 alpha", "TopPush", 5, 2.60),
        ("top-10 alpha is ahead of one-vs-all", "top-10 alpha", "OVA", 5, 5.68),
        (
            "top-10 alpha is ahead of one-vs-all with the squared hinge",
            "top-10 alpha",
            "OVA, squared hinge",
            5,
            None,
        ),
        ("top-10 alpha is ahead of Recall@10", "top-10 alpha", "Recall@10", 5, 4.03),
        ("one last violator costs Wsabie++ accuracy", "W++, Q=1", "W++, Q=0", 1, -3.43),
        ("two last violators cost more", "W++, Q=2", "W++, Q=0", 1, -7.59),
    ):
        shown = OURS if paper is None else f"{paper:+.2f}"
        text = f"{claim} (top-{depth})"
        if name not in cells or base not in cells:
            yield text, shown, "–", NOT_RUN
            continue
        where = DEPTHS.index(depth)
        found = cells[name]["test"][where] - cells[base]["test"][where]
        sign = -1 if (paper or 0) < 0 else 1
        if own:
            yield text, shown, *give_verdict(found, sign * found > 0, f"{found:+.2f}")
        else:
            tested = count_tested(cells)
            yield text, shown, *compare_seeds([found], sign=sign, digits=2, tested=tested)


def table_of_networks(cells: dict[str, Any]) -> str:
    """Return the accuracies on rows of networks, means over seeds."""
    rows = []
    for name in dict.fromkeys(key.split("/")[0] for key in cells):
        lines = dict.fromkeys(key.split("/")[1] for key in cells if key.startswith(f"{name}/"))
        for line in lines:
            found = [cell for key, cell in cells.items() if key.startswith(f"{name}/{line}/")]
            means = np.mean([cell["test"] for cell in found], axis=0)
            facts = f"{name}, {found[0]['classes']} classes, {found[0]['rows']:,} rows"
            seeds = f", {len(found)} seed{'s' if len(found) > 1 else ''}"
            first = facts + seeds if line == next(iter(lines)) else ""
            rows.append([first, line, *(f"{mean:.2f}" for mean in means)])
    return format_table(["data", "method", *(f"top-{depth}" for depth in DEPTHS)], rows)


def claims_of_networks(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims of [TK] on CNN rows, paired over seeds."""
    names = list(dict.fromkeys(key.split("/")[0] for key in cells)) or ["network rows"]

    def gain(data: str, line: str, base: str, depth: int) -> list[float]:
        where, found = DEPTHS.index(depth), []
        for seed in range(100):
            pair = cells.get(f"{data}/{line}/{seed}"), cells.get(f"{data}/{base}/{seed}")
            if pair[0] is not None and pair[1] is not None:
                found.append(pair[0]["test"][where] - pair[1]["test"][where])
        return found

    for claim, line, base, depth, paper, sign in (
        ("top-10 alpha gains at top-5", "top-10 alpha", "top-1", 5, "+1.2, +2.5", 1),
        ("top-10 alpha gains at top-10", "top-10 alpha", "top-1", 10, "+0.8, +1.9", 1),
        ("top-10 beta gains at top-5", "top-10 beta", "top-1", 5, "+1.0, +2.5", 1),
        ("top-3 alpha gains at top-3", "top-3 alpha", "top-1", 3, "+0.8, +2.6 (k = 10)", 1),
        ("top-5 alpha gains at top-5", "top-5 alpha", "top-1", 5, "+1.2, +2.5 (k = 10)", 1),
        ("top-5 beta gains at top-5", "top-5 beta", "top-1", 5, "+1.0, +2.5 (k = 10)", 1),
        ("top-10 alpha may cost top-1", "top-10 alpha", "top-1", 1, "−4.0, −0.2", -1),
        ("top-10 beta may raise top-1", "top-10 beta", "top-1", 1, "−2.1, +1.2", 1),
        ("one-vs-all is behind the multiclass SVM at top-5", "OVA", "top-1", 5, "−6.0, −10.1", -1),
    ):
        for name in names:
            own = {key: cell for key, cell in cells.items() if key.startswith(f"{name}/")}
            gains, tested = gain(name, line, base, depth), count_tested(own)
            found = compare_seeds(gains, sign=sign, digits=2, tested=tested)
            yield f"{claim} ({name})", paper, *found


def claims_of_projections(found: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims on the time of projections, by `benchmarks/projections.py`."""
    times = {row["projection"]: row["times_the_simplex"] for row in found.get("rows", [])}
    for variant in ("alpha", "beta"):
        claim = f"projecting onto the top-k simplex is as fast as onto the simplex ({variant})"
        values = list(times.get(f"top-k simplex, {variant}", {}).values())
        text = f"{min(values, default=0):.1f} to {max(values, default=0):.1f} times as long"
        most = max(values, default=None)
        yield claim, "comparable", *give_verdict(most, (most or 0) < COMPARABLE, text)


def table_of_batches(files: dict[str, dict[str, Any]]) -> str:
    """Return the results of Recall@k in mini-batches, each with the C that validation chooses."""
    rows = []
    for found in files.values():
        chosen: dict[str, Any] = {}
        for row in found["table"]:
            if row["val"][0] > chosen.get(row["batch"], {"val": [-1.0]})["val"][0]:
                chosen[row["batch"]] = row
        for number, (batch, row) in enumerate(chosen.items()):
            values = f"{row['gap']:.1e}", f"{row['value']:.4f}", f"{row['all rows']:.4f}"
            costs = f"{row['seconds'] / row['epochs']:.2f}", f"{row['MB']:.0f}"
            tests = (f"{value:.2f}" for value in row["test"])
            first = f"{found['data']}, Recall@{found['k']}" if number == 0 else ""
            facts = str(batch), f"1e{row['C']}", str(row["epochs"])
            rows.append([first, *facts, *values, *costs, *tests])
    header = ["data", "batch", "C", "epochs", "gap", "value", "of all rows", "seconds per epoch"]
    return format_table([*header, "MB", "top-1", "top-5", "top-10"], rows)


def list_batches() -> Iterator[str]:
    """Yield Recall@k in mini-batches beside that of all rows, if it has been measured."""
    names = (name for name in sorted(read_all()) if name.startswith("recall_batches"))
    files = {name: read(name) for name in names}
    if not files:
        return
    yield (
        "Recall@k in mini-batches beside that of all rows, from zero, with the C that validation "
        "rows choose, `benchmarks/recall_batches.py`. `value` is the objective that is trained "
        "on, `of all rows` that of all rows together at the same weights. Processor seconds; MB "
        f"of private memory, most of it for the cuts. {describe_origin(files)}"
    )
    yield table_of_batches(files)


def list_silhouettes(cells: dict[str, Any]) -> Iterator[str]:
    """Yield Table 1 of [TK] beside the paper's, and its claims."""
    done = [name for name in SILHOUETTES if name in cells]
    fixed = [name for name in done if not name.startswith(RANDOM)]
    near = sum("reproduced" in compare(cells[name], name)[-1] for name in fixed)
    yield (
        f"Table 1, Caltech 101 Silhouettes, the data of the paper; `recipes/silhouettes.py`. "
        f"Of {len(done)} rows {len(fixed)} are of deterministic methods, and {near} of these lie "
        f"within {NEAR} points of the paper in every column. {describe_origin(cells)}"
    )
    yield table_of_silhouettes(cells)
    yield "![Accuracy at k on Silhouettes](images/evidence/silhouettes.png)"
    yield format_claims(claims_of_silhouettes(cells, own=True))
    if "TopPush" in cells:
        yield (
            "TopPush on the way to its optimum: validation accuracy and relative duality gap. "
            "`weak lam` is the row that is stopped early, and ends after 600 steps; `continued` "
            'are the values of C of the row "to the gap", each with up to 1,000 steps from where '
            "the one before has ended."
        )
        yield table_of_push(cells)


def list_parts() -> Iterator[str]:
    """Yield the parts of the section."""
    found, networks = read("silhouettes"), read("topk_networks").get("cells", {})
    cells = found.get("cells", {})
    yield "## [TK] Top-k multiclass SVM"
    if not found:
        yield "Table 1, `recipes/silhouettes.py`. Not run."
    elif found["data"] != PAPER_DATA:
        yield f"{found['data']}, `recipes/silhouettes.py`. {describe_origin(cells)}"
        yield table_of_rows(cells)
        yield format_claims(claims_of_silhouettes(cells, own=False))
    else:
        yield from list_silhouettes(cells)
    yield from list_batches()
    yield (
        "The same claims on rows of a network, EfficientNet-Lite0 (1,280 features), "
        "`recipes/topk_networks.py`; the paper's numbers are those of MIT Indoor 67 and SUN 397. "
        + describe_origin(networks)
    )
    if networks:
        yield table_of_networks(networks)
    yield format_claims(claims_of_networks(networks))
    projections = read("projections")
    yield (
        "The projections, 10 to 100,000 entries and k = 5, `benchmarks/projections.py`. "
        + describe_origin(projections)
    )
    yield format_claims(claims_of_projections(projections))
