"""The model card: what a model folder's README.md says of data, settings and measures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from myriad.measures import Measures

CARD = """# {title}

A model that ranks {classes:,} classes, made by [myriad](https://pypi.org/project/myriad-learn/).

| | |
|---|---|
{facts}

## Accuracy on {n:,} validation images

| in % | top-1 | top-5 |
|---|---|---|
| over samples | {top1} | {top5} |
| mean over classes | {class_top1} | {class_top5} |

Settings and the number of passes were chosen on these images, so other images may do worse.

## Use

    myriad predict {title} IMAGE...

or in Python:

    import myriad
    labels, scores = myriad.load("{title}").predict_topk(["photo.jpg"], 5)

`model.safetensors` holds all arrays, `config.json` settings and class names. Loading runs no code.
"""


def write_card(title: str, measures: Measures, facts: Mapping[str, Any]) -> str:
    """Return the text of a model card."""
    found = measures.to_json()
    numbers = {
        key: "-" if found[key] is None else f"{found[key]:.1f}"
        for key in ("top1", "top5", "class_top1", "class_top5")
    }
    lines = "\n".join(f"| {name} | {_plain(value)} |" for name, value in facts.items())
    return CARD.format(
        title=_plain(title), classes=measures.classes, n=measures.n, facts=lines, **numbers
    )


def _plain(value: Any) -> str:
    """Return a value as text that cannot break out of a table of Markdown."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    for character in "\\|<>[]`*_#\n\r":
        text = text.replace(character, " " if character in "\n\r" else f"&#{ord(character)};")
    return text
