"""Claims of the papers, their numbers beside ours, and a verdict: the tables of docs/evidence.md.

    python recipes/evidence.py                     # print the tables
    python recipes/evidence.py docs/evidence.md    # write them into the page

All numbers come from `benchmarks/results/`; a verdict is computed from them, so that it changes
with the results. What has not been run says so. A test compares the page with the results.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from highly_multiclass_tables import RESULTS, format_table, write_tables

HOLDS, FAILS, PARTLY, NOT_RUN = "holds", "**does not hold**", "partly", "not run"
NEAR = 0.7
"""Points within which a row of a deterministic method counts as reproduced."""

SILHOUETTES = {  # [TK, Table 1], Caltech 101 Silhouettes
    "OVA": (61.81, 73.13, 76.25, 77.76, 78.89, 83.57),
    "TopPush": (63.11, 75.16, 78.46, 80.19, 81.97, 86.95),
    "TopPush, 350 steps": (63.11, 75.16, 78.46, 80.19, 81.97, 86.95),
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
DEPTHS = (1, 2, 3, 4, 5, 10)
ILSVRC = {  # [GP, Table 2], top-1 of ILSVRC 2010
    "BOV": {"w-OVR": 26.4, "MUL": 22.7, "RNK": 20.8, "WAR": 24.1},
    "FV": {"w-OVR": 45.7, "MUL": 46.2, "RNK": 46.1, "WAR": 46.1},
}

Claim = tuple[str, str, str, str]
"""What a paper says, its number, ours, and the verdict."""


def read(name: str) -> dict[str, Any]:
    """Return a file of results; empty where it has not been written."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def judge(ours: float | None, holds: bool, text: str = "") -> tuple[str, str]:
    """Return how a number is shown, and the verdict."""
    if ours is None:
        return "–", NOT_RUN
    return text or f"{ours:.1f}", HOLDS if holds else FAILS


def table_of_silhouettes(cells: dict[str, Any]) -> str:
    """Return Table 1 of [TK] with the paper's row and ours, and how far they are apart."""
    rows = []
    for name, paper in SILHOUETTES.items():
        rows.append([name, "paper", *(f"{number:.2f}" for number in paper), "", ""])
        cell = cells.get(name)
        if cell is None:
            rows.append(["", "here", *["–"] * len(paper), "", NOT_RUN])
            continue
        apart = [ours - theirs for ours, theirs in zip(cell["test"], paper, strict=True)]
        most = max(apart, key=abs)
        fits = abs(most) <= NEAR
        verdict = "reproduced" if fits else f"top-1 {apart[0]:+.2f}, at most {most:+.2f}"
        settings = {n: v for n, v in cell["chosen"].items() if n not in ("gap", "val")}
        chosen = ", ".join(
            f"{n} {v:.3g}" if isinstance(v, float) else f"{n} {v}" for n, v in settings.items()
        )
        rows.append(["", "here", *(f"{n:.2f}" for n in cell["test"]), chosen, verdict])
    heads = ["method", "", *(f"top-{depth}" for depth in DEPTHS), "chosen", "verdict"]
    return format_table(heads, rows)


def claims_of_topk(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims of [TK]."""

    def at(name: str, depth: int) -> float | None:
        return cells[name]["test"][DEPTHS.index(depth)] if name in cells else None

    def gain(name: str, base: str, depth: int) -> float | None:
        first, second = at(name, depth), at(base, depth)
        return None if first is None or second is None else first - second

    for name, depth, paper in (
        ("top-10 alpha", 5, 2.60),
        ("top-20 alpha", 10, 3.42),
        ("top-10 beta", 5, 2.90),
    ):
        found = gain(name, "top-1 alpha", depth)
        text = f"{name} gains at top-{depth} over the multiclass SVM (top-1 alpha)"
        yield text, f"+{paper:.2f}", *judge(found, (found or 0) > 0.5, f"{found or 0:+.2f}")
    found = gain("top-10 beta", "top-1 alpha", 1)
    text = "top-10 beta may raise top-1 as well"
    yield text, "+1.21", *judge(found, (found or 0) > 0, f"{found or 0:+.2f}")
    found = gain("top-20 alpha", "top-1 alpha", 1)
    text = "top-20 alpha costs top-1"
    yield text, "−3.60", *judge(found, (found or 0) < 0, f"{found or 0:+.2f}")
    found = gain("top-10 alpha", "TopPush", 5)
    text = "top-10 alpha is ahead of TopPush at top-5"
    yield text, "+2.60", *judge(found, (found or 0) > 0, f"{found or 0:+.2f}")
    found = gain("top-10 alpha", "OVA", 5)
    text = "top-10 alpha is ahead of one-vs-all at top-5"
    yield text, "+5.68", *judge(found, (found or 0) > 0.5, f"{found or 0:+.2f}")
    found = gain("W++, Q=2", "W++, Q=0", 1)
    text = "last violators cost Wsabie++ accuracy on these data (Q = 2 against none)"
    yield text, "−7.59", *judge(found, (found or 0) < 0, f"{found or 0:+.2f}")
    yield "the same on CNN rows of MIT Indoor 67, SUN 397", "Table 1", "–", NOT_RUN


def table_of_objectives(found: dict[str, Any]) -> str:
    """Return the accuracy of each objective of [GP] on each feature, seed 0."""
    cells = found.get("cells", {})
    features = list(dict.fromkeys(name.split("/")[0] for name in cells))
    lines = list(dict.fromkeys(name.split("/")[1] for name in cells))
    rows = []
    for line in lines:
        shown = [cells.get(f"{feature}/{line}/0") for feature in features]
        rows.append([line, *(f"{c['top1']:.1f} / {c['top5']:.1f}" if c else "–" for c in shown)])
    dims = {f: next(c["dim"] for n, c in cells.items() if n.startswith(f"{f}/")) for f in features}
    return format_table(["top-1 / top-5", *(f"{f} ({dims[f]:,} features)" for f in features)], rows)


def claims_of_practice(found: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims of [GP]."""
    cells = found.get("cells", {})

    def at(feature: str, line: str) -> float | None:
        cell = cells.get(f"{feature}/{line}/0")
        return None if cell is None else cell["top1"]

    features = list(dict.fromkeys(name.split("/")[0] for name in cells))
    known = [f for f in features if all(at(f, line) is not None for line in ILSVRC["FV"])]
    low = next((f for f in known if f.startswith("bov")), None)
    high = next((f for f in reversed(known) if f.startswith("fv")), None)
    spreads = {f: [at(f, line) or 0.0 for line in ILSVRC["FV"]] for f in known}
    ours = [max(spreads[f]) - min(spreads[f]) if f else None for f in (low, high)]
    both = ours[0] is not None and ours[1] is not None
    shrinks = both and (ours[1] or 0) < (ours[0] or 0)
    text = f"{ours[0]:.1f} ({low}), {ours[1]:.1f} ({high})" if both else "–"
    claim = "the objectives differ less the larger the features (best minus worst, top-1)"
    yield claim, "5.6 (BOV), 0.5 (FV)", text, (HOLDS if shrinks else FAILS) if both else NOT_RUN
    for feature, paper in ((low, "+2.3 over WAR (BOV)"), (high, "−0.5 behind MUL (FV)")):
        if feature is None:
            continue
        lead = (at(feature, "w-OVR") or 0) - max(spreads[feature][1:])
        verdict = HOLDS if lead > -1 else FAILS
        claim = f"w-OVR is as good as any other objective, within a point ({feature})"
        yield claim, paper, f"{lead:+.1f}", verdict
    for feature in known:
        plain, tuned = at(feature, "u-OVR"), at(feature, "w-OVR")
        if plain is None or tuned is None:
            continue
        claim = f"tuning beta gains over all negatives, u-OVR ({feature})"
        paper = "+3.7 (BOV, 10K classes)" if feature == low else "much for small, little for large"
        verdict = HOLDS if tuned > plain + 0.5 else PARTLY if tuned > plain - 0.5 else FAILS
        yield claim, paper, f"{tuned - plain:+.1f}", verdict
    yield "early stopping is as good as explicit regularisation (Figure 2)", "similar", "–", NOT_RUN
    yield "10,184 classes, 9 million images (Table 3)", "19.1", "–", NOT_RUN


def claims_of_codes(found: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims of [CC] on Scene 15."""
    by_code = {(row["codes"], row["ratio"]): row["class_top1"] for row in found.get("rows", [])}

    def compare(first: str, second: str, ratio: int) -> float | None:
        if (first, ratio) not in by_code or (second, ratio) not in by_code:
            return None
        return by_code[first, ratio] - by_code[second, ratio]

    lost = compare("bits", "pq", 32)
    claim = "sign bits of selected features are about as accurate as PQ at ratio 32"
    yield claim, "PQ slightly ahead", *judge(lost, (lost or 0) > -1, f"{lost or 0:+.1f}")
    for ratio in (64, 128, 256):
        lead = compare("bits", "pq", ratio)
        claim = f"they win over PQ at ratio {ratio}"
        yield claim, "ahead (Figure 5)", *judge(lead, (lead or 0) > 0, f"{lead or 0:+.1f}")
    lead = compare("bilinear", "pq", 256)
    claim = "bilinear codes are near PQ at ratio 256"
    yield claim, "similar (Figure 5)", *judge(lead, (lead or 0) > -1, f"{lead or 0:+.1f}")
    shares = "shares of weakly correlated pairs and of useless dimensions (Figures 1 and 2)"
    yield shares, "–", "–", NOT_RUN
    yield "VOC 2007, SUN 397, ILSVRC 2010", "Tables 1 to 3", "–", NOT_RUN


def claims_of_many_classes() -> Iterator[Claim]:
    """Yield the claims of [HM]."""
    for name, kind in (("Omniglot", "omniglot"), ("glyphs", "glyphs")):
        table = read(f"highly_multiclass-{kind}").get("table8", {})

        def at(line: str, table: dict[str, Any] = table) -> float | None:
            return table[line]["mean"] if line in table else None

        best, plain = at("Wsabie++"), at("Wsabie")
        gain = None if best is None or plain is None else best - plain
        claim = f"Wsabie++ is ahead of Wsabie ({name})"
        yield claim, "+1.4 to +5.4", *judge(gain, (gain or 0) > 0, f"{gain or 0:+.1f}")
        for line in ("one-vs-all", "one-vs-all, dual"):
            other = at(line)
            gain = None if best is None or other is None else best - other
            claim = f"Wsabie++ is ahead of {line} ({name})"
            yield claim, "+0.2 to +2.1", *judge(gain, (gain or 0) > 0, f"{gain or 0:+.1f}")
        other, equal = at("one-vs-all"), at("one-vs-all, 1 : 1")
        gain = None if other is None or equal is None else other - equal
        claim = f"one negative a positive is too few for one-vs-all ({name})"
        yield claim, "+4.7 to +6.2 with all", *judge(gain, (gain or 0) > 0, f"{gain or 0:+.1f}")
    rows = read("last_violators").get("rows", [])
    pairs = [(a["test"], b["test"]) for a, b in zip(rows[::3], rows[1::3], strict=True)]
    worse = sum(second < first for first, second in pairs)
    claim = "last violators raise accuracy (Omniglot, 500 classes, five settings)"
    shown = f"lower in {worse} of {len(pairs)} settings"
    yield claim, "+1.1 (21k Web)", shown, (FAILS if 2 * worse > len(pairs) else HOLDS)
    yield "16k to 97k classes of ImageNet and the Web", "Table 8", "–", NOT_RUN


def claims_of_lecture() -> Iterator[Claim]:
    """Yield the claims of [LS]."""
    few = read("trace-few").get("few", [])
    gains = [row["trace_top1"] - max(row["l2_top1"], row["l2_minimum_top1"]) for row in few]
    shown = ", ".join(f"{gain:+.1f}" for gain in gains)
    claim = "the trace norm helps where classes share directions (drawn rows of low rank)"
    yield claim, "ahead of OVR", *judge(min(gains, default=None), min(gains, default=0) > 0, shown)
    store = read("trace-scene15").get("store", {})
    gain = store["trace_top1"] - store["l2_minimum_top1"] if store else None
    claim = "the same on photographs (Scene 15, Fisher vectors)"
    yield claim, "ahead of OVR", *judge(gain, (gain or 0) > 0, f"{gain or 0:+.1f}")
    predict = read("trace-predict").get("predict", [])
    fast = min((row["speed_up"] for row in predict), default=None)
    claim = "a model of low rank predicts faster (500 and 10,000 classes, rank 20)"
    yield claim, "–", *judge(fast, (fast or 0) > 1, f"{fast or 0:.0f} times and more")
    yield "SGD against batch solvers by CPU time and images a class", "–", "–", NOT_RUN


def format_claims(claims: Iterator[Claim]) -> str:
    """Return claims as a table."""
    return format_table(["claim", "paper", "here", "verdict"], [list(claim) for claim in claims])


def tell_origin(cells: dict[str, Any]) -> str:
    """Return the machine and the dates of results."""
    if not cells:
        return "Not run."
    machines = sorted({cell["machine"] for cell in cells.values()})
    dates = sorted({cell["date"][:10] for cell in cells.values()})
    return f"Run on {' and '.join(dates)}, {'; '.join(machines)}."


def format_tables() -> str:
    """Return all tables of the page."""
    topk, practice = read("silhouettes").get("cells", {}), read("good_practice")
    setting = ""
    if practice:
        setting = (
            f"Images of {practice['data']}, the first {practice['classes']} classes, "
            f"{practice['images']} training images a class, one seed. "
        )
    parts = [
        "## [TK] Top-k multiclass SVM",
        "Caltech 101 Silhouettes, `recipes/silhouettes.py`. " + tell_origin(topk),
        table_of_silhouettes(topk),
        format_claims(claims_of_topk(topk)),
        "## [GP] Good practice",
        f"{setting}`recipes/good_practice.py`. " + tell_origin(practice.get("cells", {})),
        *([table_of_objectives(practice)] if practice else []),
        format_claims(claims_of_practice(practice)),
        "## [CC] To choose or to compress",
        "Scene 15, five random splits, mean over classes, `benchmarks/codes.py`; points of "
        "difference.",
        format_claims(claims_of_codes(read("codes"))),
        "## [HM] Highly multiclass classifiers",
        "`recipes/highly_multiclass.py`, `recipes/last_violators.py`; all tables are on the page "
        "[Recipes](recipes.md). Differences of top-1 accuracy.",
        format_claims(claims_of_many_classes()),
        "## [LS] Large-scale learning",
        "`benchmarks/trace.py`. Differences of top-1 accuracy.",
        format_claims(claims_of_lecture()),
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, nargs="?")
    options = parser.parse_args()
    if options.page is None:
        print(format_tables())
    else:
        write_tables(options.page, format_tables())


if __name__ == "__main__":
    main()
