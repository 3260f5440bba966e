"""The section of docs/evidence.md on [HM]: Wsabie++, one-vs-all and last violators."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from evidence_claims import (
    FAILS,
    HOLDS,
    MOSTLY,
    NOT_RUN,
    OURS,
    Claim,
    Source,
    average,
    compare_seeds,
    count_tested,
    describe_origin,
    format_claims,
    format_table,
    list_seeds,
    pair,
    read,
    read_all,
)
from evidence_confusable import list_claims as list_confusable
from evidence_confusable import list_tables
from highly_multiclass_tables import RESULTS

DIMS = (32, 64, 128, 192, 256, 384, 512)
RECIPE = "highly_multiclass"
SETS = {
    "highly_multiclass-omniglot": "Omniglot",
    "highly_multiclass-omniglot200": "Omniglot, 200 classes",
    "highly_multiclass-glyphs": "glyphs",
}
"""Names of the files of our own sets."""
TABLE8 = (
    ("Wsabie++ is ahead of Wsabie", "Wsabie++", "Wsabie", "+3.7 to +5.4"),
    ("Wsabie++ is ahead of an ensemble of Wsabie", "Wsabie++", "Wsabie ensemble", "+2.5 to +4.8"),
    ("Wsabie++ is ahead of one-vs-all with adagrad", "Wsabie++", "one-vs-all", "+0.2 to +2.1"),
    ("Wsabie++ is ahead of one-vs-all, plain SGD", "Wsabie++", "one-vs-all, plain SGD", OURS),
    ("Wsabie++ is ahead of one-vs-all, exact (dual)", "Wsabie++", "one-vs-all, dual", OURS),
    (
        "one negative per positive is too few for one-vs-all",
        "one-vs-all",
        "one-vs-all, 1 : 1",
        "+4.7 to +6.2",
    ),
    (
        "one negative per positive is too few for one-vs-all, plain SGD",
        "one-vs-all, plain SGD",
        "one-vs-all, 1 : 1, plain SGD",
        OURS,
    ),
    ("WARP sampling is ahead of AUC sampling (Wsabie beside AUC)", "Wsabie", "AUC", "-0.3 to +1.8"),
    ("an ensemble of Wsabie is better", "Wsabie ensemble", "Wsabie", "+0.4 to +1.6"),
    ("an ensemble of Wsabie++ is better", "Wsabie++ ensemble", "Wsabie++", "+0.1 to +0.7"),
)
TABLE6 = (
    ("adagrad helps", "Wsabie + adagrad", "Wsabie", "+1.3"),
    ("constant weights help", "Wsabie + constant weight", "Wsabie", "+0.4"),
    ("10 last violators help", "Wsabie + 10 last violators", "Wsabie", "+1.3"),
    ("adagrad and constant weights help", "Wsabie + adagrad + constant weight", "Wsabie", "+2.3"),
    (
        "10 last violators help on top of both",
        "... + 10 last violators",
        "Wsabie + adagrad + constant weight",
        "+1.1",
    ),
)


def claims_of_set(name: str, cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims on one set, paired over seeds."""
    compare = partial(compare_seeds, tested=count_tested(cells))
    for table, rows in (("table8", TABLE8), ("table6", TABLE6)):
        for claim, first, second, paper in rows:
            gains = pair(cells, f"{table}/{first}", f"{table}/{second}", "test")
            yield f"{claim} ({name})", paper, *compare(gains)
    gains = pair(cells, "table6/Wsabie + counting adagrad", "table6/Wsabie + adagrad", "test")
    claim = f"counting adagrad is at most a point behind adagrad ({name})"
    yield claim, "no difference", *compare(gains, least=-1.0)
    gains = pair(cells, "by_order/8", "by_order/0", "test")
    if gains:
        yield f"last violators of order 8 help Wsabie++ ({name})", "+1.1", *compare(gains)
    yield from claims_of_dims(name, cells)


def claims_of_dims(name: str, cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claim that accuracy has a peak at a middle number of dimensions.

    The middle one with the best validation accuracy is compared with the two ends, and judged by
    the end that is nearer to it.
    """
    validated = {d: average(cells, f"by_dim/{d}", "validation") for d in DIMS}
    known = {d: found[0] for d, found in validated.items() if found}
    if len(known) < 3:
        return
    first, *middle, last = known
    best = max(middle, key=lambda d: known[d])
    gains = {end: pair(cells, f"by_dim/{best}", f"by_dim/{end}", "test") for end in (first, last)}
    if not all(gains.values()):
        return
    end = min(gains, key=lambda end: float(np.mean(gains[end])))
    shown, verdict = compare_seeds(gains[end], tested=count_tested(cells))
    claim = f"accuracy has a peak at a middle number of dimensions ({name})"
    text = f"{best} of {first} to {last}: {shown} above {end}"
    yield claim, "256 of 128 to 1,024: +0.9 above 128", text, verdict


def list_early(found: dict[str, dict[str, Any]]) -> dict[str, list[float]]:
    """Return when each run reached 80 % of its accuracy, in percent of its epochs, by method."""
    early: dict[str, list[float]] = {}
    for cells in found.values():
        for name, cell in cells.items():
            if cell.get("early") is not None:
                table, line, _ = name.split("/")
                method = {"table8": line, "table6": "variants of Table 6"}.get(table, "Wsabie++")
                early.setdefault(method, []).append(cell["early"])
    return early


def claims_of_convergence(found: dict[str, dict[str, Any]]) -> Iterator[Claim]:
    """Yield when 80 % of the accuracy was reached, over all runs that recorded it."""
    early = list_early(found)
    runs = [value for values in early.values() for value in values]
    claim = "80 % of the validation accuracy comes in the first 20 % of the training time"
    if not runs:
        yield claim, "all methods", "–", NOT_RUN
        return
    share = sum(value <= 20 for value in runs)
    text = f"in {share} of {len(runs)} runs; median {np.median(runs):.0f} %"
    verdict = MOSTLY if 2 * share > len(runs) else FAILS
    if all(np.median(values) <= 20 for values in early.values()):
        verdict = HOLDS
    yield claim, "all methods", text, verdict


def table_of_convergence(found: dict[str, dict[str, Any]]) -> str:
    """Return when runs reached 80 % of their accuracy, by method."""
    rows = [
        [method, str(len(values)), f"{np.median(values):.0f} %", f"{max(values):.0f} %"]
        for method, values in list_early(found).items()
    ]
    return format_table(["method", "runs", "median", "latest"], rows)


def claims_of_spread(found: dict[str, dict[str, Any]]) -> Iterator[Claim]:
    """Yield how much the runs of a method differ: the standard deviation over seeds, of each set.

    [HM, 8.3] has the range of five runs on the same rows.
    """
    spreads = {
        line: [
            float(np.std(values, ddof=1))
            for cells in found.values()
            if len(values := list_seeds(cells, f"table8/{line}", "test")) > 1
        ]
        for line in ("Wsabie++", "one-vs-all")
    }
    claim = "runs of Wsabie++ differ more than those of one-vs-all (deviation over seeds)"
    pairs = list(zip(spreads["Wsabie++"], spreads["one-vs-all"], strict=False))
    text = ", ".join(f"{first:.1f} and {second:.1f}" for first, second in pairs)
    more = sum(first > second for first, second in pairs)
    verdict = HOLDS if more == len(pairs) else MOSTLY if 2 * more > len(pairs) else FAILS
    yield claim, "0.5 and 0.1", text or OURS, verdict if pairs else NOT_RUN


def claims_of_starving(found: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claim on last violators, from the results of `last_violators.py`."""
    rows = list(found.get("cells", {}).values())
    name, size = found.get("set", "omniglot_1623"), found.get("classes", 500)
    name = {"omniglot_1623": "Omniglot"}.get(name, name)
    claim = f"last violators raise accuracy ({name}, {size} classes, five settings)"
    if not rows:
        yield claim, "+1.1 (21k Web)", "–", NOT_RUN
        return
    pairs = [(a["test"], b["test"]) for a, b in zip(rows[::3], rows[1::3], strict=True)]
    worse = sum(second < first for first, second in pairs)
    shown = f"lower in {worse} of {len(pairs)} settings"
    yield claim, "+1.1 (21k Web)", shown, FAILS if 2 * worse > len(pairs) else HOLDS


def find_sets() -> dict[str, dict[str, Any]]:
    """Return the results of each set, our own sets first."""
    files = {stem: found for stem, found in read_all().items() if found.get("recipe") == RECIPE}
    order = sorted(files, key=lambda stem: [*SETS, stem].index(stem))
    return {SETS.get(stem, files[stem]["set"]): files[stem]["cells"] for stem in order}


def table_of_lines(found: dict[str, dict[str, Any]]) -> str:
    """Return the accuracy of every line of every table, means and deviations over seeds."""
    titles = {"table8": "Table 8", "table6": "Table 6", "by_dim": "dimensions"}
    titles["by_order"] = "order of last violators"
    names = [name.rsplit("/", 1)[0] for cells in found.values() for name in cells]
    rows = []
    for name in dict.fromkeys(names):
        table, line = name.split("/")
        row = [f"{titles[table]}: {line}"]
        for cells in found.values():
            values = list_seeds(cells, name, "test")
            spread = f" ± {np.std(values, ddof=1):.1f} ({len(values)})" if len(values) > 1 else ""
            row.append(f"{np.mean(values):.1f}{spread}" if values else "–")
        rows.append(row)
    return format_table(["top-1, deviation (seeds)", *found], rows)


def list_parts() -> Iterator[str]:
    """Yield the parts of the section."""
    found = find_sets()
    claims = [claim for name, cells in found.items() for claim in claims_of_set(name, cells)]
    claims += claims_of_convergence(found)
    claims += claims_of_spread(found)
    claims += list_confusable()
    claims += claims_of_starving(read("last_violators"))
    claims.append(
        ("16k to 97k classes of ImageNet and the Web", "Table 8", "data not available", NOT_RUN)
    )
    runs = {
        f"{name}/{line}": cell
        for name, cells in found.items()
        for line, cell in cells.items()
        if "machine" in cell
    }
    own = Source.folder == RESULTS
    page = "; all tables of classifiers are on the page [Recipes](recipes.md)" if own else ""
    yield "## [HM] Highly multiclass classifiers"
    yield (
        "`recipes/highly_multiclass.py`, `recipes/last_violators.py` and, for Figures 1 to 3, "
        f"Equation 7 and two-stage training, `recipes/confusable_classes.py`{page}. Paired "
        "differences of top-1 accuracy over seeds, with their standard error; a seed draws the "
        f"validation rows too. {describe_origin(runs)}"
    )
    if not own and found:
        yield table_of_lines(found)
    yield format_claims(claims)
    if list_early(found):
        yield (
            "When 80 % of the best validation accuracy was reached, in percent of the epochs up to "
            "the best one; runs that recorded it, all sets."
        )
        yield table_of_convergence(found)
    yield from list_tables()
