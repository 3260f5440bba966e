"""The section of docs/evidence.md on [CC]: features, codes and their times."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from evidence_claims import (
    FAILS,
    HOLDS,
    NOT_RUN,
    OURS,
    UNDECIDED,
    Claim,
    compare_seeds,
    describe_origin,
    format_claims,
    format_table,
    give_verdict,
    read,
)

LINES = ("pq", "bits", "presence", "hadamard", "bilinear", "random")
GAUSSIANS = 128
"""Of the Fisher vectors of [CC]."""
USELESS = 0.1
"""Bits of information below which a feature counts as useless  [CC, 3.3]."""


def claims_of_codes(found: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims of [CC] on Scene 15, paired over the splits of `benchmarks/codes.py`."""
    by_code = {
        (row["codes"], row["ratio"]): [split["class_top1"] for split in row["splits"]]
        for row in found.get("rows", [])
    }
    for first, second, ratio, text, paper, least in (
        ("bits", "pq", 32, "sign bits are at most a point behind PQ", "PQ slightly ahead", -1.0),
        ("bits", "pq", 64, "sign bits win over PQ", "ahead (Figure 5)", 0.0),
        ("bits", "pq", 128, "sign bits win over PQ", "ahead (Figure 5)", 0.0),
        ("bits", "pq", 256, "sign bits win over PQ", "ahead (Figure 5)", 0.0),
        ("bilinear", "pq", 256, "bilinear codes are near PQ", "similar (Figure 5)", -1.0),
    ):
        pairs = zip(by_code.get((first, ratio), []), by_code.get((second, ratio), []), strict=False)
        gains = [ours - other for ours, other in pairs]
        yield f"five splits: {text} (ratio {ratio})", paper, *compare_seeds(gains, least=least)
    yield from claims_of_chosen(read("choose_or_compress"))
    yield "VOC 2007, SUN 397, ILSVRC 2010", "Tables 1 to 3", "data not available", NOT_RUN


def compare_images(first: Any, second: Any, counts: list[int]) -> tuple[float, float] | None:
    """Return how far one line is ahead of another on the same test images, and its standard error.

    Parameters
    ----------
    first, second : results with the bits of the images that were recognised, class by class.
    counts : test images of each class.

    Returns
    -------
    The difference of the means over classes in points, and its error over test images alone;
    None if one of the two has not been run.
    """
    if first is None or second is None:
        return None
    ours, other = (
        np.unpackbits(np.frombuffer(bytes.fromhex(cell["right"]), np.uint8)).astype(int)
        for cell in (first, second)
    )
    n = sum(counts)
    classes = np.split((ours - other)[:n], np.cumsum(counts)[:-1])
    mean = np.mean([gains.mean() for gains in classes])
    error = np.sqrt(sum(gains.var() / len(gains) for gains in classes)) / len(classes)
    return 100 * float(mean), 100 * float(error)


def decide(found: tuple[float, float] | None, least: float = 0.0) -> tuple[str, str]:
    """Return a difference as text, and whether it is above `least` by twice its error or more."""
    if found is None:
        return "–", NOT_RUN
    gain, error = found
    verdict = UNDECIDED if abs(gain - least) <= 2 * error else HOLDS if gain > least else FAILS
    return f"{gain:+.1f} ± {error:.1f}", verdict


def by_chance(found: dict[str, Any], quantiser: str) -> float:
    """Return the mean estimate of bits for a feature without information that fills all bins."""
    bins = 2 if quantiser == "sign" else int(quantiser.split()[0])
    classes = len(found["test_counts"])
    return (bins - 1) * (classes - 1) / (2 * found["train_rows"] * math.log(2))


def claims_of_features(found: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims on the features by themselves, Figures 1 to 3."""
    cells = found.get("cells", {})
    facts = cells.get(f"{GAUSSIANS}/correlations", {})
    for kind in ("random", "same region", "same Gaussian"):
        share = facts.get("weak", {}).get(kind)
        claim = f"Figure 1: over 99 % of the pairs of features have a correlation below 0.2, {kind}"
        yield claim, "over 99.9 %", *give_verdict(share, (share or 0) > 99, f"{share or 0:.1f} %")
    information = cells.get(f"{GAUSSIANS}/information", {})
    for name in ("sign", "2 bins", "4 bins", "8 bins", "16 bins"):
        share = information.get("useless", {}).get(name)
        claim = f"Figure 2: features with less than 0.1 bits of information, {name}"
        shown, verdict = give_verdict(share, (share or 0) > 90, f"{share or 0:.1f} %")
        best = information.get("quantiles", {}).get("10", {}).get(name, math.inf)
        if verdict == FAILS and best - by_chance(found, name) < USELESS:
            shown, verdict = f"{shown}; over 90 % without the bits by chance", UNDECIDED
        yield claim, "over 90 %", shown, verdict
    for name in ("4 bins", "8 bins"):
        medians = information.get("median")
        gain = medians["sign"] - medians[name] if medians else None
        claim = f"Figure 2: the sign is more informative than {name} (median, bits)"
        yield claim, "more", *give_verdict(gain, (gain or 0) > 0, f"{gain or 0:+.3f}")
    modes = cells.get(f"{GAUSSIANS}/modes", {}).get("bimodal", {})
    for kind in ("all values", "cells that are not empty"):
        share = modes.get(kind)
        claim = f"Figure 3: features with two modes, one on each side of 0, {kind}"
        yield claim, "9 of 10", *give_verdict(share, (share or 0) > 50, f"{share or 0:.0f} %")


def claims_of_chosen(found: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims of [CC], by the results of `choose_or_compress.py`."""
    cells, counts = found.get("cells", {}), found.get("test_counts", [])
    yield from claims_of_features(found)

    def lead(first: str, second: str, ratio: int) -> tuple[float, float] | None:
        lines = (f"{GAUSSIANS}/{first}/{ratio}", f"{GAUSSIANS}/{second}/{ratio}")
        return compare_images(cells.get(lines[0]), cells.get(lines[1]), counts)

    for first, second, ratio, text, paper in (
        ("bits", "random", 256, "sign bits of chosen features beat those of random ones", OURS),
        ("bits", "random", 1024, "sign bits of chosen features beat those of random ones", OURS),
        ("pq", "bits", 32, "Figure 5: PQ has an edge over sign bits", "a small edge"),
        ("bits", "pq", 64, "Figure 5: sign bits win over PQ", "ahead"),
        ("bits", "pq", 128, "Figure 5: sign bits win over PQ", "ahead"),
        ("bits", "pq", 256, "Figure 5: sign bits win over PQ", "ahead"),
        ("bits", "bilinear", 64, "Figure 5: sign bits win over bilinear codes", "ahead"),
        ("bits", "bilinear", 128, "Figure 5: sign bits win over bilinear codes", "ahead"),
        ("bits", "bilinear", 256, "Figure 5: sign bits win over bilinear codes", "ahead"),
        ("presence", "bits", 32, "presence bits beat sign bits", OURS),
        ("presence", "bits", 256, "presence bits beat sign bits", OURS),
        ("presence", "pq", 256, "presence bits beat PQ", OURS),
    ):
        yield f"{text} (ratio {ratio})", paper, *decide(lead(first, second, ratio))
    half, whole = (cells.get(f"{GAUSSIANS}/bits/{ratio}") for ratio in (64, 32))
    claim = "half of the features can be dropped (sign bits, ratio 64 beside 32)"
    kept = compare_images(half, whole, counts)
    yield claim, "0.0 (VOC 2007), +0.2 (SUN 397)", *decide(kept, -1.0)
    plain = cells.get(f"{GAUSSIANS}/none/1")
    for ratio, paper, least in ((32, "+1.5 (VOC 2007)", -1.0), (1024, "−12.1 (VOC 2007)", -12.1)):
        lost = compare_images(cells.get(f"{GAUSSIANS}/bits/{ratio}"), plain, counts)
        claim = f"sign bits against plain rows, ratio {ratio:,}: lose at most {-least:.1f} points"
        yield claim, paper, *decide(lost, least)
    yield from claims_of_times(cells)


def claims_of_times(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims on processor time, Figures 4, 6 and 7."""
    for name, other, ratio, figure, paper in (
        ("coding", "pq", 32, "coding", "negligible; PQ 30 % of all time"),
        ("coding", "bilinear", 32, "coding", "negligible; BPBC 50 % of all time"),
        ("training", "pq", 256, "Figure 6: training", "PQ much slower"),
        ("testing", "pq", 256, "Figure 7: testing", "PQ much slower"),
    ):
        times = [cells.get(f"{GAUSSIANS}/{line}/{ratio}", {}).get(name) for line in ("bits", other)]
        claim = f"{figure} is faster with bits than with {other} (seconds, ratio {ratio})"
        if None in times:
            yield claim, paper, "–", NOT_RUN
        else:
            shown = f"{times[0]:.1f} against {times[1]:.1f}"
            yield claim, paper, shown, HOLDS if times[0] < 0.9 * times[1] else FAILS
    for name, figure in (("training", "Figure 6"), ("testing", "Figure 7")):
        times = [
            cells.get(f"{GAUSSIANS}/{line}/256", {}).get(name) for line in ("bits", "bilinear")
        ]
        claim = f"{figure}: {name} takes as long with bits as with bilinear (seconds, ratio 256)"
        if None in times:
            yield claim, "similar", "–", NOT_RUN
        else:
            shown = f"{times[0]:.2f} against {times[1]:.2f}"
            near = max(times) < 1.5 * min(times)
            yield claim, "similar", shown, HOLDS if near else FAILS
    times = [cells.get(f"{GAUSSIANS}/pq/{ratio}", {}).get("coding") for ratio in (32, 256)]
    claim = "coding with PQ takes less time at large ratios (seconds, ratio 32 and 256)"
    if None in times:
        yield claim, "30 % and 5 % of all time", "–", NOT_RUN
    else:
        shown = f"{times[0]:.1f} and {times[1]:.1f}"
        verdict = HOLDS if times[1] < 0.9 * times[0] else FAILS
        yield claim, "30 % and 5 % of all time", shown, verdict
    times = [cells.get(f"{GAUSSIANS}/bits/{ratio}", {}).get("training") for ratio in (32, 1024)]
    claim = "Figure 4: training time falls in proportion to the ratio (32 times shorter rows)"
    if None in times:
        yield claim, "halves each time", "–", NOT_RUN
    else:
        shown = f"{times[0] / max(times[1], 0.01):.0f} times"
        yield claim, "halves each time", shown, HOLDS if times[0] > 16 * times[1] else FAILS


def table_of_codes(cells: dict[str, Any]) -> str:
    """Return the accuracy of each code at each ratio, for each number of Gaussians."""
    names = [name.split("/") for name in cells if name.count("/") == 2]
    ratios = sorted({int(ratio) for _, line, ratio in names if line != "none"})
    rows = []
    for size in sorted({int(size) for size, _, _ in names}, key=lambda n: (n != GAUSSIANS, n)):
        run = {line for one, line, _ in names if one == str(size)}
        for line in (line for line in LINES if line in run):
            found = [cells.get(f"{size}/{line}/{ratio}") for ratio in ratios]
            shown = [f"{cell['class_top1']:.1f}" if cell else "–" for cell in found]
            rows.append([str(size), line, *shown])
    return format_table(["Gaussians", "code", *(f"ratio {ratio}" for ratio in ratios)], rows)


def table_of_times(cells: dict[str, Any]) -> str:
    """Return processor seconds of coding, training and testing, at the ends of the ratios."""
    rows = []
    for line in ("none", *LINES[:-1]):
        texts = []
        for name in ("coding", "training", "testing"):
            for ratio in (32, 256):
                cell = cells.get(f"{GAUSSIANS}/{line}/{1 if line == 'none' else ratio}")
                texts.append(f"{cell[name]:.1f}" if cell else "–")
        rows.append([line, *texts])
    header = [
        f"{name}, {ratio}" for name in ("coding", "training", "testing") for ratio in (32, 256)
    ]
    return format_table(["seconds, ratio", *header], rows)


def table_of_information(found: dict[str, Any]) -> str:
    """Return Figure 2 in numbers: the information of features, by quantiser.

    The last line is the mean estimate for a feature without information that fills all bins.
    """
    facts = found["cells"][f"{GAUSSIANS}/information"]
    names = list(facts["useless"])
    rows = [
        ["below 0.1 bits", *(f"{facts['useless'][name]:.1f} %" for name in names)],
        ["median, bits", *(f"{facts['median'][name]:.3f}" for name in names)],
    ]
    for share, values in facts.get("quantiles", {}).items():
        if share != "50":  # the median
            rows.append([f"best {share} %, bits", *(f"{values[name]:.3f}" for name in names)])
    rows.append(["by chance alone, bits", *(f"{by_chance(found, name):.3f}" for name in names)])
    return format_table(["information of a feature", *names], rows)


def describe_selection(cells: dict[str, Any]) -> str:
    """Return a sentence on how few cells have the chosen features."""
    shares = cells[f"{GAUSSIANS}/selection"]["cells of half"]
    shown = ", ".join(f"{share:.0f} % at ratio {int(ratio):,}" for ratio, share in shares.items())
    return (
        "Half of the features that are chosen by the information of their sign lie in few of the "
        f"cells (region, Gaussian): {shown}. Half of random features lie in nearly 50 %."
    )


def describe_chosen(cells: dict[str, Any]) -> str:
    """Return a sentence on the accuracy of plain rows, to compare the table of codes with."""
    shown = []
    for size in (GAUSSIANS, 64, 256):
        if f"{size}/none/1" in cells:
            plain, facts = cells[f"{size}/none/1"], cells[f"{size}/correlations"]
            shown.append(
                f"{size} Gaussians: plain rows reach {plain['class_top1']:.1f}, and "
                f"{facts['empty']:.0f} % of the cells (region, Gaussian) are empty"
            )
    return "; ".join(shown) + "."


def list_parts() -> Iterator[str]:
    """Yield the parts of the section."""
    found, splits = read("choose_or_compress"), read("codes")
    chosen = found.get("cells", {})
    done = f"{GAUSSIANS}/none/1" in chosen
    size, data = "", "Scene 15"
    if found:
        data = {"scene15": data}.get(found["data"], found["data"])
        size = f", {found['train_rows']:,} training and {found['test_rows']:,} test images"
    yield "## [CC] To choose or to compress"
    yield (
        f"{data}, mean over classes. The first five claims: five random splits of 131,072 "
        "features of 256 Gaussians over 4 regions, `benchmarks/codes.py`. "
        f"{describe_origin(splits)} The tables and all other "
        "claims: `recipes/choose_or_compress.py`, 128 Gaussians over 8 regions as in the paper, "
        f"one split{size}; ± is the standard error of a difference over these "
        f"test images. {describe_origin(chosen)}"
    )
    if f"{GAUSSIANS}/information" in chosen:
        yield "Figure 2: information of single features about the class, by quantiser."
        yield table_of_information(found)
        yield "![Information of features, by quantiser](images/evidence/information.png)"
    if done:
        yield describe_chosen(chosen)
        yield (
            "Accuracy by code: `pq` product codes, `bits` sign bits of the features with the most "
            "information, `presence` the same with a bit for each cell, `hadamard` sign bits of "
            "rotated rows, `bilinear` those of [CC] as BPBC, `random` sign bits of random features."
        )
        yield table_of_codes(chosen)
        if f"{GAUSSIANS}/selection" in chosen:
            yield describe_selection(chosen)
        yield "![Accuracy of codes against the compression ratio](images/evidence/codes.png)"
        yield (
            "Figures 4, 6 and 7: processor seconds for learning the code and coding all images; "
            "for decoding the training images and training with a known lam; for decoding and "
            "scoring the test images."
        )
        yield table_of_times(chosen)
    yield format_claims(claims_of_codes(splits))
