"""The sections of docs/evidence.md on [CC], [HM] and [LS]."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from evidence_claims import (
    FAILS,
    HOLDS,
    NOT_RUN,
    UNDECIDED,
    Claim,
    format_claims,
    format_table,
    judge,
    read,
    tell_origin,
)


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
    yield from claims_of_chosen(read("choose_or_compress").get("cells", {}))
    yield "shares of useless dimensions (Figure 2)", "most are noise", "–", NOT_RUN
    yield "VOC 2007, SUN 397, ILSVRC 2010", "Tables 1 to 3", "–", NOT_RUN


def claims_of_chosen(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield what `choose_or_compress.py` says of the claims of [CC]."""
    weak = cells.get("correlations", {}).get("weak", {})
    for kind in ("random", "same region", "same Gaussian"):
        share = weak.get(kind)
        claim = f"pairs of features with a correlation below 0.2: {kind}"
        yield claim, "over 99.9 %", *judge(share, (share or 0) > 99, f"{share or 0:.1f} %")

    def lead(first: str, second: str, ratio: int) -> float | None:
        pair = cells.get(f"{first}/{ratio}"), cells.get(f"{second}/{ratio}")
        return None if None in pair else pair[0]["class_top1"] - pair[1]["class_top1"]  # type: ignore[index]

    gain = lead("bits", "random", 256)
    claim = "features chosen by information beat random ones, as sign bits (ratio 256)"
    yield claim, "ahead", *judge(gain, (gain or 0) > 0, f"{gain or 0:+.1f}")
    for ratio in (32, 256):
        gain = lead("presence", "bits", ratio)
        claim = f"ours: presence bits beat sign bits (ratio {ratio})"
        yield claim, "–", *judge(gain, (gain or 0) > 0, f"{gain or 0:+.1f}")


def table_of_codes(cells: dict[str, Any]) -> str:
    """Return the accuracy of each code at each ratio."""
    names = [name.split("/") for name in cells if "/" in name]
    lines = list(dict.fromkeys(line for line, _ in names if line != "none"))
    ratios = sorted({int(ratio) for line, ratio in names if line != "none"})
    rows = []
    for line in lines:
        found = [cells.get(f"{line}/{ratio}") for ratio in ratios]
        rows.append([line, *(f"{cell['class_top1']:.1f}" if cell else "–" for cell in found)])
    return format_table(["code", *(f"ratio {ratio}" for ratio in ratios)], rows)


def tell_chosen(cells: dict[str, Any]) -> str:
    """Return what the table of codes is to be compared with."""
    plain, told = cells["none/1"]["class_top1"], cells["correlations"]
    return f"Plain rows reach {plain:.1f}; {told['empty']:.0f} % of the cells are empty."


def claims_of_many_classes() -> Iterator[Claim]:
    """Yield the claims of [HM]."""
    sets = {"Omniglot": "omniglot", "Omniglot, 200 classes": "omniglot200", "glyphs": "glyphs"}
    for name, kind in sets.items():
        table = read(f"highly_multiclass-{kind}").get("table8", {})

        def compare(
            first: str, second: str, claim: str, paper: str, table: dict[str, Any] = table
        ) -> Claim:
            if first not in table or second not in table:
                return claim, paper, "–", NOT_RUN
            ours, other = table[first], table[second]
            gain = ours["mean"] - other["mean"]
            noise = math.hypot(ours["spread"], other["spread"])
            verdict = UNDECIDED if abs(gain) < noise else HOLDS if gain > 0 else FAILS
            return claim, paper, f"{gain:+.1f} ± {noise:.1f}", verdict

        claim = f"Wsabie++ is ahead of Wsabie ({name})"
        yield compare("Wsabie++", "Wsabie", claim, "+1.4 to +5.4")
        for line in ("one-vs-all", "one-vs-all, plain SGD", "one-vs-all, dual"):
            claim = f"Wsabie++ is ahead of {line} ({name})"
            yield compare("Wsabie++", line, claim, "+0.2 to +2.1")
        claim = f"one negative a positive is too few for one-vs-all ({name})"
        usual = "one-vs-all" if "one-vs-all" in table else "one-vs-all, plain SGD"
        yield compare(usual, "one-vs-all, 1 : 1", claim, "+4.7 to +6.2")
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


def list_parts() -> Iterator[str]:
    """Yield the parts of the sections."""
    chosen = read("choose_or_compress").get("cells", {})
    yield "## [CC] To choose or to compress"
    yield (
        "Scene 15, mean over classes. PQ, sign bits and bilinear codes: five random splits of "
        "131,072 features, `benchmarks/codes.py`. Correlations, random and presence bits: "
        "`recipes/choose_or_compress.py`, 32,768 features, one split of 60 training images a "
        f"class. {tell_origin(chosen)}"
    )
    if "none/1" in chosen:
        yield tell_chosen(chosen)
        yield table_of_codes(chosen)
    yield format_claims(claims_of_codes(read("codes")))
    yield "## [HM] Highly multiclass classifiers"
    yield (
        "`recipes/highly_multiclass.py`, `recipes/last_violators.py`; all tables are on the page "
        "[Recipes](recipes.md). Differences of top-1 accuracy."
    )
    yield format_claims(claims_of_many_classes())
    yield "## [LS] Large-scale learning"
    yield "`benchmarks/trace.py`. Differences of top-1 accuracy."
    yield format_claims(claims_of_lecture())
