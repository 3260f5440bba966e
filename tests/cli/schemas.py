"""The JSON Schemas of what the command prints with ``--json``."""

import json
import re
from importlib.resources import files
from typing import Any


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
