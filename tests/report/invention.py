"""Invented evidence for reports of any number of classes, and images to go with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def invent_evidence(
    n_classes: int, *, per_class: int = 10, even: bool = False, seed: int = 0
) -> dict[str, Any]:
    """Return evidence as a model folder keeps it: some classes hard, rare ones harder."""
    rng = np.random.default_rng(seed)
    train = (5 + 95 * rng.pareto(1.3, n_classes)).clip(3, 4000).astype(int)
    if even:
        train[:] = 40
    chance = np.clip(0.35 + 0.11 * np.log(train) + rng.normal(0, 0.12, n_classes), 0.02, 0.99)
    names = [f"class {i:04d}" for i in range(n_classes)]
    classes = [
        _invent_class(i, names, int(train[i]), float(chance[i]), per_class, rng)
        for i in range(n_classes)
    ]
    pairs = [
        {
            "truth": item["name"],
            "guess": other["name"],
            "count": other["count"],
            "sample": other["sample"],
            "guess_sample": f"train/{other['name']}/0.png",
        }
        for item in classes
        for other in item["taken_for"]
    ]
    pairs.sort(key=lambda pair: -pair["count"])
    top1 = float(np.mean([item["top1"] for item in classes]))
    top5 = float(np.mean([item["top5"] for item in classes]))
    fall = np.log(max(100 - top1, 1e-3) / max(100 - top5, 1e-3)) / np.log(5)
    rise = {str(k): float(100 - (100 - top1) * k**-fall) for k in range(1, 11)}
    return {
        "title": f"synthetic {n_classes}",
        "split": "validation",
        "created": "2026-11-15T12:00:00Z",
        "data": "drawn for the purpose",
        "measures": {
            "n": n_classes * per_class,
            "bad": 3,
            "unknown": 0,
            "classes": n_classes,
            "top1": top1,
            "top5": top5,
            "class_top1": top1 - 0.4,
            "class_top5": top5 - 0.2,
            "accuracy_at": rise,
            "map": None,
            "seconds": 3.2,
        },
        "history": [
            {
                "epoch": epoch,
                "top1": top1 - 25 / epoch**1.5 + float(rng.normal(0, 0.3)),
                "top5": top5 - 15 / epoch**1.5,
                "seconds": 1.9,
            }
            for epoch in range(1, 13)
        ],
        "search": [
            {"eta": eta, "beta": beta, "lam": 0, "epochs": 2, "top1": 40 + 9 * eta + beta / 8}
            for eta in (0.01, 0.1, 1.0)
            for beta in (4, 16, 64)
        ],
        "classes": classes,
        "pairs": pairs[:100],
        "settings": {
            "objective": "ovr",
            "eta": 0.1,
            "beta": 16,
            "seed": 0,
            "signature": {"kind": "fisher", "gaussians": 128, "scales": [1, 2, 3], "pyramid": True},
            "codes": None,
        },
        "environment": {"python": "3.11.7", "myriad": "0.1.0", "numpy": "2.1.0", "threads": 2},
        "bad": [
            {"path": f"train/rose/{i}.jpg", "reason": "the file ends too early"} for i in range(3)
        ],
        "ceiling": None,
        "model_bytes": 12_345_678,
    }


def draw_image(path: str) -> NDArray[np.uint8]:
    """Draw an image of 120 x 160 pixels that depends on its path alone."""
    rng = np.random.default_rng(list(path.encode("utf-8", "surrogatepass")))
    rows, columns = np.mgrid[0:120, 0:160]
    phase = rng.uniform(0, 6, 3)
    waves = np.sin(rows[..., None] / 20 + phase) + np.cos(columns[..., None] / 30 * (1 + phase))
    return (127 + 60 * waves).astype(np.uint8)


def _invent_class(
    i: int,
    names: list[str],
    train: int,
    chance: float,
    n: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    right = int(rng.binomial(n, chance))
    near = right + int(rng.binomial(n - right, 0.6))
    wrong = n - right
    taken_for = []
    for shift in (1, 2, 3):
        count = min(wrong, int(rng.integers(0, 4)))
        if count and len(names) > shift:
            name = names[(i + shift) % len(names)]
            sample = f"val/{names[i]}/{shift}.png"
            taken_for.append({"name": name, "count": count, "sample": sample})
            wrong -= count
    return {
        "name": names[i],
        "train": train,
        "n": n,
        "top1": 100 * right / n,
        "top5": 100 * near / n,
        "sample": f"val/{names[i]}/0.png",
        "taken_for": sorted(taken_for, key=lambda other: -other["count"]),
    }
