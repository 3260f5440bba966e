"""A code on disk: `code.json` and `code.safetensors` in a folder. Loading runs no code from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors.numpy import save

from myriad.codes.code import Code
from myriad.errors import InputError
from myriad.files import atomic_writes, checksum, dump_json, read_arrays, read_json
from myriad.serialisation import flatten, restore

FORMAT = 1
SETTINGS, ARRAYS = "code.json", "code.safetensors"


def save_code(folder: str | Path, code: Code) -> None:
    """Write a code; what an earlier one wrote there is replaced."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    settings, arrays = flatten(code)
    with atomic_writes(place / ARRAYS, place / SETTINGS) as (array_file, settings_file):
        array_file.write_bytes(save(arrays))
        content = {"format": FORMAT, "checksum": checksum(array_file), "code": settings}
        settings_file.write_text(dump_json(content), encoding="utf-8")


def load_code(folder: str | Path, expected: type[Any] = Code) -> Any:
    """Read a code back; a missing, damaged or swapped file is an `InputError`."""
    place = Path(folder)
    content = read_json(place / SETTINGS)
    if content.get("format") != FORMAT:
        raise InputError(f"{place / SETTINGS} is damaged or of a newer version.")
    if not (place / ARRAYS).is_file():
        raise InputError(f"{place / ARRAYS} is missing.")
    if checksum(place / ARRAYS) != content.get("checksum"):
        raise InputError(f"{place / ARRAYS} is damaged, or belongs to another code.")
    try:
        return restore(content.get("code"), read_arrays(place / ARRAYS), expected)
    except RecursionError:
        raise InputError(f"{place / SETTINGS} is damaged: its parts nest too deep.") from None
