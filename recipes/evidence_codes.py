"""The section of docs/evidence.md on [CC]: features, codes and their times."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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
SHARED_RATIOS = (32, 64, 128, 256)
"""That both sign bits and product codes reach  [CC, Figure 5]."""
GAUSSIANS = 128
"""Of the Fisher vectors of [CC, Figures 1 to 3]."""
GAUSSIANS_OF_CODES = 256
"""Of those of [CC, Figures 4 to 7]."""
SHORT = 0.05
"""Seconds that are too short to compare: the clock and other work decide."""
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
    None if one of the two has not been run, or on other rows.
    """
    if first is None or second is None or first.get("rows") != second.get("rows"):
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


def list_sizes(cells: dict[str, Any]) -> list[int]:
    """Return the numbers of Gaussians that have been run, the one of most tables first."""
    sizes = {int(name.split("/")[0]) for name in cells if name.endswith("/none/1")}
    return sorted(sizes, key=lambda size: (size != GAUSSIANS, size))


def find_size(cells: dict[str, Any]) -> int:
    """Return the number of Gaussians of the tables: that of the paper, or of the first run."""
    return next(iter(list_sizes(cells)), GAUSSIANS)


def by_chance(found: dict[str, Any], quantiser: str) -> float:
    """Return the mean estimate of bits for a feature without information that fills all bins."""
    bins = 2 if quantiser == "sign" else int(quantiser.split()[0])
    classes = len(found["test_counts"])
    return (bins - 1) * (classes - 1) / (2 * found["train_rows"] * math.log(2))


def claims_of_features(found: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims on the features by themselves, Figures 1 to 3."""
    cells = found.get("cells", {})
    size = find_size(cells)
    facts = cells.get(f"{size}/correlations", {})
    for kind in ("random", "same region", "same Gaussian"):
        share = facts.get("weak", {}).get(kind)
        claim = f"Figure 1: over 99 % of the pairs of features have a correlation below 0.2, {kind}"
        yield claim, "over 99.9 %", *give_verdict(share, (share or 0) > 99, f"{share or 0:.1f} %")
    information = cells.get(f"{size}/information", {})
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
    modes = cells.get(f"{size}/modes", {}).get("bimodal", {})
    for kind in ("all values", "cells that are not empty"):
        share = modes.get(kind)
        claim = f"Figure 3: features with two modes, one on each side of 0, {kind}"
        yield claim, "9 of 10", *give_verdict(share, (share or 0) > 50, f"{share or 0:.0f} %")


def claims_of_chosen(found: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims of [CC], by the results of `choose_or_compress.py`."""
    cells, counts = found.get("cells", {}), found.get("test_counts", [])
    yield from claims_of_features(found)

    size = find_size(cells)

    def lead(first: str, second: str, ratio: int, size: int) -> tuple[float, float] | None:
        lines = (f"{size}/{first}/{ratio}", f"{size}/{second}/{ratio}")
        return compare_images(cells.get(lines[0]), cells.get(lines[1]), counts)

    for ratio in (256, 1024):
        claim = f"sign bits of chosen features beat those of random ones (ratio {ratio})"
        yield claim, OURS, *decide(lead("bits", "random", ratio, size))
    for gaussians in dict.fromkeys((size, GAUSSIANS_OF_CODES)):
        if gaussians != size and f"{gaussians}/none/1" not in cells:
            continue
        for first, second, ratios, text, paper in (
            ("pq", "bits", (32,), "PQ has an edge over sign bits", "a small edge"),
            ("bits", "pq", (64, 128, 256), "sign bits win over PQ", "ahead"),
            ("bits", "bilinear", (64, 128, 256), "sign bits win over bilinear codes", "ahead"),
        ):
            for ratio in ratios:
                claim = f"Figure 5: {text} (ratio {ratio}, {gaussians} Gaussians)"
                yield claim, paper, *decide(lead(first, second, ratio, gaussians))
    for first, second, ratio, text in (
        ("presence", "bits", 32, "presence bits beat sign bits"),
        ("presence", "bits", 256, "presence bits beat sign bits"),
        ("presence", "pq", 256, "presence bits beat PQ"),
    ):
        yield f"{text} (ratio {ratio})", OURS, *decide(lead(first, second, ratio, size))
    half, whole = (cells.get(f"{size}/bits/{ratio}") for ratio in (64, 32))
    claim = "half of the features can be dropped (sign bits, ratio 64 beside 32)"
    kept = compare_images(half, whole, counts)
    yield claim, "0.0 (VOC 2007), +0.2 (SUN 397)", *decide(kept, -1.0)
    plain = cells.get(f"{size}/none/1")
    for ratio, paper, least in ((32, "+1.5 (VOC 2007)", -1.0), (1024, "−12.1 (VOC 2007)", -12.1)):
        lost = compare_images(cells.get(f"{size}/bits/{ratio}"), plain, counts)
        claim = f"sign bits against plain rows, ratio {ratio:,}: lose at most {-least:.1f} points"
        yield claim, paper, *decide(lost, least)
    yield from claims_of_times(cells)


def compare_times(
    times: list[float | None], digits: int, *, holds: Callable[[float, float], bool]
) -> tuple[str, str]:
    """Return two times as text, and the verdict; undecided where both are too short."""
    first, second = times
    if first is None or second is None:
        return "–", NOT_RUN
    text = f"{first:.{digits}f} against {second:.{digits}f}"
    if max(first, second) < SHORT:
        return text, UNDECIDED
    return text, HOLDS if holds(first, second) else FAILS


def claims_of_times(cells: dict[str, Any]) -> Iterator[Claim]:
    """Yield the claims on processor time, Figures 4, 6 and 7."""
    size = find_size(cells)

    def find(name: str, *lines: str) -> list[float | None]:
        return [cells.get(f"{size}/{line}", {}).get(name) for line in lines]

    for name, other, ratio, figure, paper in (
        ("coding", "pq", 32, "coding", "negligible; PQ 30 % of all time"),
        ("coding", "bilinear", 32, "coding", "negligible; BPBC 50 % of all time"),
        ("training", "pq", 256, "Figure 6: training", "PQ much slower"),
        ("testing", "pq", 256, "Figure 7: testing", "PQ much slower"),
    ):
        times = find(name, f"bits/{ratio}", f"{other}/{ratio}")
        claim = f"{figure} is faster with bits than with {other} (seconds, ratio {ratio})"
        yield claim, paper, *compare_times(times, 1, holds=lambda a, b: a < 0.9 * b)
    for name, figure in (("training", "Figure 6"), ("testing", "Figure 7")):
        times = find(name, "bits/256", "bilinear/256")
        claim = f"{figure}: {name} takes as long with bits as with bilinear (seconds, ratio 256)"
        found = compare_times(times, 2, holds=lambda a, b: max(a, b) < 1.5 * min(a, b))
        yield claim, "similar", *found
    claim = "coding with PQ takes less time at large ratios (seconds, ratio 256 and 32)"
    found = compare_times(find("coding", "pq/256", "pq/32"), 1, holds=lambda a, b: a < 0.9 * b)
    yield claim, "5 % and 30 % of all time", *found
    times = find("training", "bits/32", "bits/1024")
    claim = "Figure 4: training time falls in proportion to the ratio (seconds, ratio 32 and 1,024)"
    found = compare_times(times, 1, holds=lambda a, b: a > 16 * b)
    yield claim, "halves each time", *found


def table_of_codes(cells: dict[str, Any]) -> str:
    """Return the accuracy of each code at each ratio, for each number of Gaussians."""
    names = [name.split("/") for name in cells if name.count("/") == 2]
    ratios = sorted({int(ratio) for _, line, ratio in names if line != "none"})
    rows = []
    for size in list_sizes(cells):
        run = {line for one, line, _ in names if one == str(size)}
        for line in (line for line in LINES if line in run):
            found = [cells.get(f"{size}/{line}/{ratio}") for ratio in ratios]
            shown = [f"{cell['class_top1']:.1f}" if cell else "–" for cell in found]
            rows.append([str(size), line, *shown])
    return format_table(["Gaussians", "code", *(f"ratio {ratio}" for ratio in ratios)], rows)


def table_of_times(cells: dict[str, Any]) -> str:
    """Return processor seconds of coding, training and testing, at the ends of the ratios."""
    rows, size = [], find_size(cells)
    for line in ("none", *LINES[:-1]):
        texts = []
        for name in ("coding", "training", "testing"):
            for ratio in (32, 256):
                cell = cells.get(f"{size}/{line}/{1 if line == 'none' else ratio}")
                texts.append(f"{cell[name]:.1f}" if cell else "–")
        if set(texts) != {"–"}:
            rows.append([line, *texts])
    header = [
        f"{name}, {ratio}" for name in ("coding", "training", "testing") for ratio in (32, 256)
    ]
    return format_table(["seconds, ratio", *header], rows)


def table_of_information(found: dict[str, Any]) -> str:
    """Return Figure 2 in numbers: the information of features, by quantiser.

    The last line is the mean estimate for a feature without information that fills all bins.
    """
    facts = found["cells"][f"{find_size(found['cells'])}/information"]
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
    shares = cells[f"{find_size(cells)}/selection"]["cells of half"]
    shown = ", ".join(f"{share:.0f} % at ratio {int(ratio):,}" for ratio, share in shares.items())
    return (
        "Half of the features that are chosen by the information of their sign lie in few of the "
        f"cells (region, Gaussian): {shown}. Half of random features lie in nearly 50 %."
    )


def table_of_sizes(found: dict[str, Any]) -> str:
    """Return how far sign bits are from product codes, by Gaussians and by empty cells."""
    cells, counts, rows = found["cells"], found["test_counts"], []
    for size in sorted(list_sizes(cells)):
        plain, facts = cells[f"{size}/none/1"], cells[f"{size}/correlations"]
        row = [str(size), f"{facts['empty']:.0f} %", f"{plain['class_top1']:.1f}"]
        for ratio in SHARED_RATIOS:
            pair = (cells.get(f"{size}/{line}/{ratio}") for line in ("bits", "pq"))
            row.append(decide(compare_images(*pair, counts))[0])
        rows.append(row)
    header = ["Gaussians", "empty cells", "plain rows"]
    return format_table([*header, *(f"ratio {ratio}" for ratio in SHARED_RATIOS)], rows)


def list_parts() -> Iterator[str]:
    """Yield the parts of the section."""
    found, splits = read("choose_or_compress"), read("codes")
    chosen = found.get("cells", {})
    size = find_size(chosen)
    yield "## [CC] To choose or to compress"
    text = ""
    if splits:
        text = (
            "The first five claims: Scene 15, five random splits of 131,072 features of 256 "
            f"Gaussians over 4 regions, `benchmarks/codes.py`. {describe_origin(splits)} The "
            "tables and all other claims: "
        )
    if found:
        data = {"scene15": "Scene 15"}.get(found["data"], found["data"])
        paper = " as in Figures 1 to 3 of the paper" if size == GAUSSIANS else ""
        yield (
            f"{text}{data}, mean over classes, `recipes/choose_or_compress.py`; {size} Gaussians "
            f"over 8 regions{paper} unless stated; one split, {found['train_rows']:,} training and "
            f"{found['test_rows']:,} test images. ± is the standard error of a difference over "
            f"these test images. {describe_origin(chosen)}"
        )
    if f"{size}/information" in chosen:
        yield "Figure 2: information of single features about the class, by quantiser."
        yield table_of_information(found)
        yield "![Information of features, by quantiser](images/evidence/information.png)"
    if list_sizes(chosen):
        yield (
            "Sign bits beside product codes, points, by the share of cells (region, Gaussian) that "
            "are empty; accuracy of plain rows."
        )
        yield table_of_sizes(found)
        yield (
            "Accuracy by code: `pq` product codes, `bits` sign bits of the features with the most "
            "information, `presence` the same with a bit for each cell, `hadamard` sign bits of "
            "rotated rows, `bilinear` those of [CC] as BPBC, `random` sign bits of random features."
        )
        yield table_of_codes(chosen)
        if f"{size}/selection" in chosen:
            yield describe_selection(chosen)
        yield "![Accuracy of codes against the compression ratio](images/evidence/codes.png)"
        yield (
            "Figures 4, 6 and 7: processor seconds for learning the code and coding all images; "
            "for decoding the training images and training with a known lam; for decoding and "
            "scoring the test images."
        )
        yield table_of_times(chosen)
    yield format_claims(claims_of_codes(splits))
