"""The section of docs/evidence.md on [CC]: features, codes and their times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evidence_claims import (
    FAILS,
    HOLDS,
    NOT_RUN,
    Claim,
    format_claims,
    format_table,
    judge,
    read,
    tell_origin,
)

GAUSSIANS = 128
"""Of the Fisher vectors of [CC]."""


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
    yield "VOC 2007, SUN 397, ILSVRC 2010", "Tables 1 to 3", "–", NOT_RUN


def claims_of_chosen(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield what `choose_or_compress.py` says of the claims of [CC], with the paper's vectors."""
    weak = cells.get(f"{GAUSSIANS}/correlations", {}).get("weak", {})
    for kind in ("random", "same region", "same Gaussian"):
        share = weak.get(kind)
        claim = f"Figure 1: pairs of features with a correlation below 0.2, {kind}"
        yield claim, "over 99.9 %", *judge(share, (share or 0) > 99, f"{share or 0:.1f} %")
    useless = cells.get(f"{GAUSSIANS}/information", {}).get("useless", {})
    for name in ("sign", "8 bins", "16 bins"):
        share = useless.get(name)
        claim = f"Figure 2: features with less than 0.1 bits of information, {name}"
        yield claim, "over 90 %", *judge(share, (share or 0) > 90, f"{share or 0:.1f} %")
    medians = cells.get(f"{GAUSSIANS}/information", {}).get("median", {})
    for name in ("4 bins", "8 bins"):
        gain = medians["sign"] - medians[name] if medians else None
        claim = f"Figure 2: the sign tells more than {name} (median, bits)"
        yield claim, "more", *judge(gain, (gain or 0) > 0, f"{gain or 0:+.3f}")

    def lead(first: str, second: str, ratio: int, value: str = "class_top1") -> float | None:
        found = [cells.get(f"{GAUSSIANS}/{line}/{ratio}") for line in (first, second)]
        return None if None in found else found[0][value] - found[1][value]  # type: ignore[index]

    for first, second, ratio, text, paper in (
        ("bits", "random", 32, "features chosen by information beat random ones", "ahead"),
        ("bits", "random", 256, "features chosen by information beat random ones", "ahead"),
        ("bits", "pq", 256, "Figure 5: sign bits win over PQ, these vectors", "ahead"),
        ("presence", "bits", 32, "ours: presence bits beat sign bits", "–"),
        ("presence", "bits", 256, "ours: presence bits beat sign bits", "–"),
    ):
        gain = lead(first, second, ratio)
        yield f"{text} (ratio {ratio})", paper, *judge(gain, (gain or 0) > 0, f"{gain or 0:+.1f}")
    plain, small = cells.get(f"{GAUSSIANS}/none/1"), cells.get(f"{GAUSSIANS}/bits/1024")
    lost = small["class_top1"] - plain["class_top1"] if plain and small else None
    claim = "sign bits are usable up to ratio 1,024 (against plain rows)"
    yield claim, "−12.1 (VOC 2007)", *judge(lost, (lost or 0) > -12.1, f"{lost or 0:+.1f}")
    for name, other, ratio, figure, paper in (
        ("coding", "pq", 32, "coding", "negligible; PQ 30 % of all time"),
        ("coding", "bilinear", 32, "coding", "negligible; BPBC 50 % of all time"),
        ("training", "pq", 256, "Figure 6: training", "PQ much slower"),
    ):
        times = [cells.get(f"{GAUSSIANS}/{line}/{ratio}", {}).get(name) for line in ("bits", other)]
        claim = f"{figure} is faster with bits than with {other} (seconds, ratio {ratio})"
        if None in times:
            yield claim, paper, "–", NOT_RUN
        else:
            shown = f"{times[0]:.1f} against {times[1]:.1f}"
            yield claim, paper, shown, HOLDS if times[0] < 0.9 * times[1] else FAILS


def table_of_codes(cells: dict[str, Any]) -> str:
    """Return the accuracy of each code at each ratio, for each number of Gaussians."""
    names = [name.split("/") for name in cells if name.count("/") == 2]
    ratios = sorted({int(ratio) for _, line, ratio in names if line != "none"})
    rows = []
    for size in sorted({int(size) for size, _, _ in names}, key=lambda n: (n != GAUSSIANS, n)):
        for line in dict.fromkeys(line for one, line, _ in names if one == str(size)):
            if line == "none":
                continue
            found = [cells.get(f"{size}/{line}/{ratio}") for ratio in ratios]
            shown = [f"{cell['class_top1']:.1f}" if cell else "–" for cell in found]
            times = []
            for name, ratio in (("coding", 32), ("training", 256)):
                cell = cells.get(f"{size}/{line}/{ratio}")
                times.append(f"{cell[name]:.1f}" if cell else "–")
            rows.append([str(size), line, *shown, *times])
    heads = ["Gaussians", "code", *(f"ratio {ratio}" for ratio in ratios)]
    return format_table([*heads, "coding, s (32)", "training, s (256)"], rows)


def table_of_information(found: dict[str, Any]) -> str:
    """Return Figure 2 in numbers: how much features tell, by quantiser."""
    names = list(found["useless"])
    rows = [
        ["below 0.1 bits", *(f"{found['useless'][name]:.1f} %" for name in names)],
        ["median, bits", *(f"{found['median'][name]:.3f}" for name in names)],
    ]
    for share, values in found.get("quantiles", {}).items():
        rows.append([f"best {share} %, bits", *(f"{values[name]:.3f}" for name in names)])
    return format_table(["information of a feature", *names], rows)


def tell_chosen(cells: dict[str, Any]) -> str:
    """Return what the table of codes is to be compared with."""
    told = []
    for size in (GAUSSIANS, 64, 256):
        if f"{size}/none/1" in cells:
            plain, facts = cells[f"{size}/none/1"], cells[f"{size}/correlations"]
            told.append(
                f"{size} Gaussians: plain rows reach {plain['class_top1']:.1f}, and "
                f"{facts['empty']:.0f} % of the cells (region, Gaussian) are empty"
            )
    return "; ".join(told) + "."


def list_parts() -> Iterator[str]:
    """Yield the parts of the section."""
    chosen = read("choose_or_compress").get("cells", {})
    done = f"{GAUSSIANS}/none/1" in chosen
    yield "## [CC] To choose or to compress"
    yield (
        "Scene 15, mean over classes. The first five claims: five random splits of 131,072 "
        "features of 256 Gaussians over 4 regions, `benchmarks/codes.py`. The table and all other "
        "claims: `recipes/choose_or_compress.py`, 8 regions as in the paper, one split of 100 "
        f"training and 50 test images a class. {tell_origin(chosen)}"
    )
    if f"{GAUSSIANS}/information" in chosen:
        yield "Figure 2: how much single features tell about the class, by quantiser."
        yield table_of_information(chosen[f"{GAUSSIANS}/information"])
        yield "![Information of features, by quantiser](images/evidence/information.png)"
    if done:
        yield tell_chosen(chosen)
        yield table_of_codes(chosen)
        yield "![Accuracy of codes against the compression ratio](images/evidence/codes.png)"
    yield format_claims(claims_of_codes(read("codes")))
