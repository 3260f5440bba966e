"""The section of docs/evidence.md on [GP]: Table 2, Figures 1 to 4 and the six recommendations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from evidence_claims import (
    FAILS,
    HOLDS,
    NOT_RUN,
    UNDECIDED,
    Claim,
    average,
    compare_seeds,
    count_tested,
    describe_origin,
    format_claims,
    format_table,
    least_points,
    list_seeds,
    pair,
    read,
)

TABLE = ("w-OVR", "MUL", "RNK", "WAR")
ILSVRC = {  # [GP, Table 2], top-1 of ILSVRC 2010
    "BOV": {"w-OVR": 26.4, "MUL": 22.7, "RNK": 20.8, "WAR": 24.1},
    "FV": {"w-OVR": 45.7, "MUL": 46.2, "RNK": 46.1, "WAR": 46.1},
}
BETAS = ("beta=1", "beta=4", "beta=16", "beta=64", "u-OVR")
STRATEGIES = ("(i) lam, decreasing step", "(ii) lam, fixed step", "(iii) early stopping")
SHOWN_EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200)


def list_features(cells: dict[str, Any]) -> list[str]:
    """Return the features that have been run: bags of words, then Fisher vectors by length."""
    names = [name.split("/")[0] for name in cells if name.endswith("/w-OVR/0")]
    return sorted(names, key=lambda name: (name.split("-")[0], int(name.split("-")[1])))


def table_of_objectives(cells: dict[str, Any]) -> str:
    """Return the accuracy of each line on each feature, means over its seeds.

    The number of seeds is stated where it is not that of most lines.
    """
    features = list_features(cells)
    usual = count_seeds(cells)
    first = ("u-OVR", *TABLE)
    lines = dict.fromkeys([*first, *(name.split("/")[1] for name in cells)])
    rows = []
    for line in lines:
        if line in STRATEGIES or line.startswith("beta="):
            continue
        row = [line]
        for feature in features:
            top1 = average(cells, f"{feature}/{line}", "top1")
            top5 = average(cells, f"{feature}/{line}", "top5")
            seeds = f" ({top1[1]})" if top1 and top1[1] != usual else ""
            row.append(f"{top1[0]:.1f} / {top5[0]:.1f}{seeds}" if top1 and top5 else "–")
        rows.append(row)
    dims = {f: next(c["dim"] for n, c in cells.items() if n.startswith(f"{f}/")) for f in features}
    header = [f"{feature} ({dims[feature]:,})" for feature in features]
    return format_table(["top-1 / top-5", *header], rows)


def count_seeds(cells: dict[str, Any]) -> int:
    """Return the number of seeds of w-OVR, as of all lines of Table 2."""
    return max(len(list_seeds(cells, f"{f}/w-OVR", "top1")) for f in list_features(cells))


def table_of_imbalance(cells: dict[str, Any]) -> str:
    """Return [GP, Figure 1] in numbers: a row per feature, a column per beta."""
    rows = []
    for feature in list_features(cells):
        found = [average(cells, f"{feature}/{line}", "top1") for line in BETAS]
        chosen = [cells[n]["settings"]["beta"] for n in cells if n.startswith(f"{feature}/w-OVR/")]
        shown = ", ".join("all" if b in ("all", float("inf")) else f"{b:g}" for b in chosen)
        rows.append([feature, *(f"{mean[0]:.1f}" if mean else "–" for mean in found), shown])
    header = [line.replace("beta=", "beta = ").replace("u-OVR", "all (u-OVR)") for line in BETAS]
    return format_table(["top-1", *header, "beta chosen (w-OVR)"], rows)


def say_seeds(count: int) -> str:
    """Return a number of seeds as words."""
    return f"{count} seeds" if count != 1 else "one seed"


def list_runs(cells: dict[str, Any], line: str) -> list[dict[str, Any]]:
    """Return the runs of a strategy of Figure 2 on the largest features, one for each seed."""
    largest = f"{list_features(cells)[-1]}/{line}/"
    return [cell for name, cell in cells.items() if name.startswith(largest)]


def table_of_regularisation(cells: dict[str, Any]) -> str:
    """Return [GP, Figure 2] in numbers: validation accuracy by epoch, test at the best epoch.

    Means over seeds.
    """
    rows = []
    for line in STRATEGIES:
        found = list_runs(cells, line)
        if not found:
            continue
        curve = np.mean([cell["curve"] for cell in found], axis=0)
        shown = [f"{curve[e - 1]:.1f}" if e <= len(curve) else "–" for e in SHOWN_EPOCHS]
        first = found[0]["settings"]
        settings = f"eta {first['eta']:g}, lam {first.get('lam', 0):g}"
        test = float(np.mean([cell["top1"] for cell in found]))
        rows.append([line, *shown, settings, f"{test:.1f}"])
    header = [f"epoch {epoch}" for epoch in SHOWN_EPOCHS]
    return format_table(["strategy", *header, "chosen", "test"], rows)


def table_of_classes(cells: dict[str, Any], feature: str) -> str:
    """Return [GP, Figure 4] in words: the easiest and the hardest classes of w-OVR."""
    found = cells[f"{feature}/w-OVR/0"]["classes"]

    def list_classes(some: dict[str, float]) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value:.0f}" for name, value in some.items())

    return (
        f"Figure 4: classes at both ends, top-1 of w-OVR on {feature} in percent, first seed: "
        f"{list_classes(found['best'])}; {list_classes(found['worst'])}."
    )


def spread(cells: dict[str, Any], feature: str) -> float | None:
    """Return the best minus the worst objective of Table 2, by their means over seeds."""
    found = [average(cells, f"{feature}/{line}", "top1") for line in TABLE]
    values = [one[0] for one in found if one is not None]
    return max(values) - min(values) if len(values) == len(TABLE) else None


def claims_of_figures(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims of the table and the figures."""
    features, compare = list_features(cells), partial(compare_seeds, tested=count_tested(cells))
    spreads = {f: spread(cells, f) for f in features}
    known = {f: s for f, s in spreads.items() if s is not None}
    text = ", ".join(f"{s:.1f} ({f})" for f, s in known.items())
    verdict, fisher = NOT_RUN, [s for f, s in known.items() if f.startswith("fv")]
    if len(fisher) > 1:
        verdict = HOLDS if fisher[-1] < fisher[0] - 1 and fisher[-1] < 2 else FAILS
    claim = "Table 2, Figure 3: objectives differ less the larger the features (best minus worst)"
    yield claim, "5.6 (BOV), 0.5 (FV)", text or "–", verdict
    for feature in features:
        paper = "+2.3 over WAR" if feature.startswith("bov") else "at most 0.5 behind"
        lines = {line: average(cells, f"{feature}/{line}", "top1") for line in TABLE[1:]}
        best = max((one[0], line) for line, one in lines.items() if one)[1]
        gains = pair(cells, f"{feature}/w-OVR", f"{feature}/{best}", "top1")
        shown, verdict = compare(gains, least=-1.0)
        claim = f"w-OVR is at most a point behind the best other objective ({feature}: {best})"
        yield claim, paper, shown, verdict
    for feature in features:
        shown, verdict = compare(pair(cells, f"{feature}/w-OVR", f"{feature}/u-OVR", "top1"))
        paper = "+3.7 (BOV, 10K classes)" if feature.startswith("bov") else "the less, the larger"
        yield f"Figure 1: choosing beta gains over all negatives ({feature})", paper, shown, verdict
    for feature in features:
        gains = pair(cells, f"{feature}/w-OVR", f"{feature}/beta=1", "top1")
        paper = "insufficient" if feature.startswith("bov") else "+2.4 (10K classes)"
        yield f"Figure 1: beta = 1 is not enough ({feature})", paper, *compare(gains)
    for feature in features:
        bags = feature.startswith("bov")
        first, fifth = (
            pair(cells, f"{feature}/RNK", f"{feature}/MUL", depth) for depth in ("top1", "top5")
        )
        gains = [late - early for early, late in zip(first, fifth, strict=True)]
        claim = f"RNK gains on MUL from top-1 to top-5 ({feature})"
        yield claim, "+4.7" if bags else "+1.1", *compare(gains)
    for feature in features:
        gains = pair(cells, f"{feature}/WAR", f"{feature}/RNK", "top1")
        paper = "+3.3 (BOV)" if feature.startswith("bov") else "0.0"
        yield (
            f"WAR is at most a point behind RNK ({feature})",
            paper,
            *compare(gains, least=-1.0),
        )
    for feature in (f for f in features if f.startswith("bov")):  # no others in the paper
        gains = pair(cells, f"{feature}/WAR", f"{feature}/u-OVR", "top1")
        claim = f"WAR is ahead of u-OVR ({feature})"
        yield claim, "+3.2 (BOV, 10K classes)", *compare(gains)
    for line in TABLE[1:]:
        gains = [
            gain
            for feature in features
            for gain in pair(cells, f"{feature}/{line}, reweighted", f"{feature}/{line}", "top1")
        ]
        claim = f"classes drawn uniformly cost a point at most ({line}, over features)"
        yield claim, "0.1 to 0.5", *compare(gains, least=-1.0)


def list_recommendations(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the six recommendations with their verdicts, on the largest features."""
    features, compare = list_features(cells), partial(compare_seeds, tested=count_tested(cells))
    largest, bags = features[-1], features[0]

    gains = pair(cells, f"{largest}/w-OVR", f"{largest}/dual", "top1")
    shown, verdict = compare(gains, least=-1.0)
    claim = f"1. SGD is as good as a batch solver (w-OVR beside the dual squared hinge, {largest})"
    yield claim, "on par", shown, verdict
    some = [pair(cells, f"{f}/w-OVR", f"{f}/u-OVR", "top1") for f in features]
    leads = [float(np.mean(one)) for one in some if one]
    claim = "2. the imbalance must be tuned (w-OVR beside u-OVR, over all features)"
    helps = sum(lead > 1.0 for lead in leads)
    verdict = HOLDS if 2 * helps > len(leads) else FAILS
    shown = f"{min(leads):+.1f} to {max(leads):+.1f}; above a point on {helps} of {len(leads)}"
    yield claim, "a must", shown if leads else "–", verdict if leads else NOT_RUN
    decreasing, fixed, stopped = STRATEGIES
    means = {line: average(cells, f"{largest}/{line}", "top1") for line in STRATEGIES}
    better = max((decreasing, fixed), key=lambda line: (means[line] or (0.0, 0))[0])
    gains = pair(cells, f"{largest}/{stopped}", f"{largest}/{better}", "top1")
    claim = (
        f"3. early stopping replaces regularisation (Figure 2: (iii) beside {better[:4].strip()})"
    )
    yield claim, "similar; −1.9 on VOC 2007", *compare(gains, least=-1.0)
    gains = pair(cells, f"{largest}/{fixed}", f"{largest}/{decreasing}", "top1")
    claim = "4. a fixed step is enough (Figure 2: (ii) beside (i))"
    yield claim, "similar", *compare(gains, least=-1.0)
    leads = []
    for feature in features:
        values = [average(cells, f"{feature}/{line}", "top1") for line in TABLE]
        if None not in values:
            leads.append(values[0][0] - max(one[0] for one in values[1:]))  # type: ignore[index]
    claim = "5. one-vs-rest is as good as any (w-OVR beside the best other, over all features)"
    shown = f"{min(leads):+.1f} to {max(leads):+.1f}" if leads else "–"
    verdict = NOT_RUN if not leads else HOLDS if min(leads) > -1.0 else FAILS
    if verdict == FAILS and min(leads) > -1.0 - least_points(cells):
        verdict = UNDECIDED
    yield claim, "−0.5 to +2.3", shown, verdict
    ends = spread(cells, bags), spread(cells, largest)
    claim = f"6. large features make all objectives alike (spread on {bags} and {largest})"
    if None in ends:
        yield claim, "5.6 and 0.5", "–", NOT_RUN
    else:
        small = ends[1] < 2 and ends[1] < ends[0]  # type: ignore[operator]
        yield claim, "5.6 and 0.5", f"{ends[0]:.1f} and {ends[1]:.1f}", HOLDS if small else FAILS


def list_parts() -> Iterator[str]:
    """Yield the parts of the section."""
    found = read("good_practice")
    cells = found.get("cells", {})
    yield "## [GP] Good practice"
    if not list_features(cells):
        yield "`recipes/good_practice.py`. Not run."
        return
    features = list_features(cells)
    yield (
        f"`recipes/good_practice.py`: images of {found['data']}, up to {found['classes']} "
        "classes; top-1 and top-5 are means over classes. Means over "
        f"{say_seeds(count_seeds(cells))}, or over as many as stand in brackets; a seed draws the "
        "validation images. u-OVR is one-vs-rest with all negatives, w-OVR with the number of "
        "negatives per positive (beta) that validation images choose; MUL is the multiclass SVM, "
        "RNK ranking, WAR ranking weighted as WARP, `dual` one-vs-rest solved to a duality gap. "
        f"{describe_origin(cells)}"
    )
    yield table_of_objectives(cells)
    yield "Figure 1: top-1 against the number of negatives per positive."
    yield table_of_imbalance(cells)
    yield "![Accuracy against imbalance, regularisation and length](images/evidence/practice.png)"
    if any(name.split("/")[1] in STRATEGIES for name in cells):
        yield (
            f"Figure 2: one-vs-rest with beta = 1 on {features[-1]}; validation accuracy by epoch, "
            "and test accuracy of the best epoch; means over "
            f"{say_seeds(len(list_runs(cells, STRATEGIES[0])))}."
        )
        yield table_of_regularisation(cells)
    yield table_of_classes(cells, features[-1])
    yield format_claims(claims_of_figures(cells))
    yield "The six recommendations of the paper:"
    yield format_claims(list_recommendations(cells))
    yield "Not run: 10,184 classes of 9 million images (Table 3), which are not available to us."
