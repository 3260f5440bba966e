"""The JSON objects that the command prints with ``--json``, and their schemas."""

from __future__ import annotations

import json
import math
import re
from importlib.resources import files
from os import PathLike, fspath
from typing import Any


def to_line(content: Any) -> str:
    """Return `content` as JSON on one line of ASCII, which every terminal and locale can print."""
    return json.dumps(to_plain(content), allow_nan=False)


def to_plain(content: Any) -> Any:
    """Return `content` in types that JSON has: NaN and infinity become None, paths strings.

    NumPy's scalars and arrays become numbers and lists.
    """
    if isinstance(content, dict):
        return {str(key): to_plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [to_plain(value) for value in content]
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, PathLike):
        return fspath(content)
    if hasattr(content, "tolist"):
        return to_plain(content.tolist())
    return content


def load_schema(verb: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a verb's object, or of ``"error"``.

    The schemas that it refers to are put under ``$defs``, so that it can be used alone.
    """
    text = _read(verb)
    schema: dict[str, Any] = json.loads(text)
    others = set(re.findall(r'"\$ref": "urn:myriad:(\w+)"', text))
    schema["$defs"] = {name: json.loads(_read(name)) for name in sorted(others)}
    return schema


def _read(name: str) -> str:
    return files("myriad.cli").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
