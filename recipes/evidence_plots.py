"""The plots of docs/evidence.md: accuracy at k of [TK], Figures 1 to 3 of [GP], codes of [CC]."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from evidence_claims import average, read
from evidence_codes import find_size, list_sizes
from evidence_practice import BETAS, STRATEGIES, TABLE, list_features, list_runs
from evidence_topk import DEPTHS, SILHOUETTES

COLOURS = 128
"""Of a picture, so that the repository stays small."""


def draw_plots(folder: Path) -> None:
    """Draw every plot whose results are there, into a folder."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    plots = {
        "silhouettes": (draw_silhouettes, "silhouettes"),
        "practice": (draw_practice, "good_practice"),
        "codes": (draw_codes, "choose_or_compress"),
        "information": (draw_information, "choose_or_compress"),
    }
    for name, (draw, source) in plots.items():
        cells = read(source).get("cells", {})
        found = {
            draw_practice: list_features,
            draw_codes: find_codes,
            draw_information: find_quantiles,
        }.get(draw, bool)(cells)
        if found:
            with matplotlib.rc_context({"font.size": 9, "savefig.dpi": 96}):
                save(draw(cells), folder / f"{name}.png")


def save(figure: Any, path: Path) -> None:
    """Write a figure with few colours."""
    import io

    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    with Image.open(drawn) as opened:
        opened.convert("RGB").quantize(COLOURS).save(path, optimize=True)


def draw_silhouettes(cells: dict[str, Any]) -> Any:
    """Return accuracy against the number of guesses, relative to the multiclass SVM."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.4), layout="constrained")
    ax = figure.subplots()
    base = cells.get("top-1 alpha", {}).get("test")
    shown = (
        "OVA",
        "TopPush",
        "Recall@1",
        "W++, Q=0",
        "top-10 alpha",
        "top-20 alpha",
        "top-10 beta",
    )
    positions = range(len(DEPTHS))
    for number, name in enumerate(shown):
        if base is None or name not in cells:
            continue
        ours = [a - b for a, b in zip(cells[name]["test"], base, strict=True)]
        paper = [a - b for a, b in zip(SILHOUETTES[name], SILHOUETTES["top-1 alpha"], strict=True)]
        ax.plot(positions, ours, color=f"C{number}", marker="o", markersize=3, label=name)
        ax.plot(positions, paper, color=f"C{number}", linestyle=":")
    ax.axhline(0, color="grey", linewidth=0.8)
    ax.set_xticks(positions, [str(depth) for depth in DEPTHS])
    ax.set(xlabel="k", ylabel="points above the multiclass SVM")
    ax.set_title("Silhouettes, accuracy at k: ours (lines), the paper's (dotted)", fontsize=9)
    figure.legend(fontsize=7, loc="outside right center")
    return figure


def draw_practice(cells: dict[str, Any]) -> Any:
    """Return Figures 1 to 3 of [GP] side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    imbalance, regularisation, length = figure.subplots(1, 3)
    features = list_features(cells)
    for feature in features:
        found = [average(cells, f"{feature}/{line}", "top1") for line in BETAS]
        points = [(i, mean[0]) for i, mean in enumerate(found) if mean]
        imbalance.plot(*zip(*points, strict=True), marker="o", markersize=3, label=feature)
    imbalance.set_xticks(range(len(BETAS)), ["1", "4", "16", "64", "all"])
    imbalance.margins(y=0.3)  # room for the legend
    imbalance.set(xlabel="beta", ylabel="top-1, %", title="Figure 1: imbalance")
    for line in STRATEGIES:
        found = list_runs(cells, line)
        if found:
            curve = np.mean([cell["curve"] for cell in found], axis=0)
            regularisation.plot(range(1, len(curve) + 1), curve, linewidth=1, label=line)
    regularisation.set(xlabel="epoch", ylabel="validation top-1, %")
    regularisation.set_title("Figure 2: regularisation")
    fisher = [feature for feature in features if feature.startswith("fv")]
    for line in ("u-OVR", *TABLE):
        means = [(int(f.split("-")[1]), average(cells, f"{f}/{line}", "top1")) for f in fisher]
        points = [(math.log2(n), mean[0]) for n, mean in means if mean]
        length.plot(*zip(*points, strict=True), marker="o", markersize=3, label=line)
    length.set_xticks([math.log2(int(f.split("-")[1])) for f in fisher], [f[3:] for f in fisher])
    length.set(xlabel="Gaussians", ylabel="top-1, %", title="Figure 3: length")
    for ax in (imbalance, regularisation, length):
        ax.title.set_fontsize(9)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize=7, ncols=2 if ax is imbalance else 1)
    return figure


def find_codes(cells: dict[str, Any]) -> bool:
    """Return whether codes were compared."""
    return bool(list_sizes(cells))


def find_quantiles(cells: dict[str, Any]) -> dict[str, Any]:
    """Return the information of the best features, by their percentage."""
    found: dict[str, Any] = cells.get(f"{find_size(cells)}/information", {}).get("quantiles", {})
    return found


def draw_information(cells: dict[str, Any]) -> Any:
    """Return Figure 2 of [CC]: the information of the best features, a line per quantiser."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    ax = figure.subplots()
    quantiles = find_quantiles(cells)
    shares = [int(share) for share in quantiles]
    for name in next(iter(quantiles.values())):
        values = [quantiles[str(share)][name] for share in shares]
        ax.plot(shares, values, marker="o", markersize=3, label=name)
    ax.set_xscale("log")
    ax.set_xticks(shares, [f"{share} %" for share in shares])
    ax.set(xlabel="features, the best ones", ylabel="at least so many bits on the class")
    ax.legend(fontsize=7)
    return figure


def draw_codes(cells: dict[str, Any]) -> Any:
    """Return accuracy against the compression ratio, a line per code."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    ax = figure.subplots()
    own = {name: cell for name, cell in cells.items() if name.startswith(f"{find_size(cells)}/")}
    points: dict[str, list[tuple[int, float]]] = {}
    for name, cell in own.items():
        if name.count("/") == 2:
            _, line, ratio = name.split("/")
            points.setdefault(line, []).append((int(ratio), cell["class_top1"]))
    for _, plain in points.pop("none", []):
        ax.axhline(plain, color="grey", linewidth=0.8, label="plain rows")
    for line, found in points.items():
        ax.plot(*zip(*sorted(found), strict=True), marker="o", markersize=3, label=line)
    ax.set_xscale("log", base=2)
    ratios = sorted({ratio for found in points.values() for ratio, _ in found})
    ax.set_xticks(ratios, [str(ratio) for ratio in ratios])
    ax.set(xlabel="compression ratio", ylabel="top-1, mean over classes, %")
    ax.legend(fontsize=7)
    return figure
