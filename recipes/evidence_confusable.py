"""The part of docs/evidence.md on confusable classes [HM, 3 and 6]: simulations and two stages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evidence_claims import (
    FAILS,
    HOLDS,
    NOT_RUN,
    Claim,
    compare_seeds,
    count_tested,
    format_table,
    pair,
    read,
)

OMNIGLOT = "omniglot_1623"
NEAR = 0.02
"""How far a simulated frequency may be from the formula."""


def table_of_errors(cells: dict[str, Any]) -> str:
    """Return Figure 1: how noisy empirical errors are."""
    rows = []
    for p in ("0.5", "0.01"):
        for n_rows in (10, 100):
            cell = cells[f"1/{p}/{n_rows}"]
            shown = [f"{cell[name]:.3f}" for name in ("mean", "deviation", "expected")]
            rows.append([p, str(n_rows), *shown, f"{cell['far']:.1f} %"])
    header = ["probability of an error", "rows", "mean", "deviation", "sqrt(p (1 - p) / n)"]
    return format_table([*header, "0.1 away or more"], rows)


def table_of_chain(cells: dict[str, Any]) -> str:
    """Return Figure 3: the states of the last violator beside the formula."""
    rows = []
    for name, cell in cells.items():
        if name.startswith("3/"):
            _, p, q = name.split("/")
            states = zip(cell["visited"], cell["expected"], strict=True)
            rows.append([p, q, *(f"{seen:.3f} / {shown:.3f}" for seen, shown in states)])
    return format_table(["p(g)", "p(h)", "no last violator", "g", "h"], rows)


def claims_of_figures(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims of Figures 1 to 3 and of Proposition 1."""
    noise = "Figure 1: errors of confusable classes are noisier (deviation of 10 rows, p 0.5, 0.01)"
    if "2" not in cells:
        yield noise, "much noisier", "–", NOT_RUN
        return
    high, low = (cells[f"1/{p}/10"]["deviation"] for p in ("0.5", "0.01"))
    yield noise, "much noisier", f"{high:.2f} against {low:.2f}", HOLDS if high > low else FAILS
    cell = cells["2"]
    claim = "Figure 2: the prototype of the fewest training errors is worse than an unmoved one"
    lost = cell["empirical"] - cell["unmoved"]
    text = f"{lost:+.1f} points of error; worse in {cell['worse']:.0f} % of draws"
    yield claim, "an example", text, HOLDS if lost > 0 and cell["worse"] > 50 else FAILS
    claim = "Equation 7: the class-confusion loss chooses a better prototype (points of error)"
    gain, error = cell["gain"], cell["error"]
    verdict = HOLDS if gain > 2 * error else FAILS if gain < -2 * error else "undecided"
    yield claim, "better", f"{-gain:+.1f} ± {error:.1f}", verdict
    apart = max(cell["difference"] for name, cell in cells.items() if name.startswith("3/"))
    claim = "Figure 3: how often each class is the last violator (largest difference)"
    yield claim, "a formula", f"{apart:.3f}", HOLDS if apart < NEAR else FAILS
    losses = [cell for name, cell in cells.items() if name.startswith("proposition/")]
    near = all(abs(c["counted"] - c["expected"]) <= 3 * c["error"] + 1e-9 for c in losses)
    text = "; ".join(f"{c['counted']:.2f} and {c['expected']:.2f} of {c['all']:g}" for c in losses)
    claim = "Proposition 1: (n - 1) p (1 - p) + p of n p confusions count (15 rows)"
    yield claim, "a formula", text, HOLDS if near else FAILS


def claims_of_stages(cells: dict[str, Any], data: str) -> Iterator[Claim]:
    """Yield what a second stage and last violators gain over one stage."""
    tested = count_tested(cells)
    sizes = {c["classes"] for name, c in cells.items() if name.startswith("stages/")}
    name = {OMNIGLOT: "Omniglot"}.get(data, data)
    data = f"{name}, {', '.join(map(str, sorted(sizes)))} classes" if sizes else name
    for claim, line in (
        ("a second stage with the class-confusion loss helps Wsabie++", "confusion"),
        ("its online form, chains of 8 last violators, helps", "last violators"),
        ("a second stage without the worst tenth of the classes helps, all classes", "delete"),
    ):
        gains = pair(cells, f"stages/{line}", "stages/one stage", "test")
        yield f"{claim} ({data})", "better", *compare_seeds(gains, tested=tested)
    kept = [cell for name, cell in cells.items() if name.startswith("stages/delete/")]
    gains = [cell["kept"] - cell["kept, one stage"] for cell in kept]
    shown = compare_seeds(gains, tested=tested)
    yield (
        f"a second stage without the worst tenth helps the classes that are left ({data})",
        "better",
        *shown,
    )


def list_claims() -> Iterator[Claim]:
    """Yield all claims on confusable classes."""
    found = read("confusable_classes")
    cells = found.get("cells", {})
    yield from claims_of_figures(cells)
    yield from claims_of_stages(cells, found.get("data", OMNIGLOT))


def list_tables() -> Iterator[str]:
    """Yield Figures 1 and 3 as tables, if they were run."""
    cells = read("confusable_classes").get("cells", {})
    if "2" not in cells:
        return
    yield "Figure 1: 1,000 simulations of the empirical error, `recipes/confusable_classes.py`."
    yield table_of_errors(cells)
    yield (
        "Figure 3: how often each class was the last violator of 100,000 rows, simulated / by the "
        "formula; g and h violate with the probabilities p(g) and p(h)."
    )
    yield table_of_chain(cells)
