"""The JSON files of a store, `plan.json` and `store.json`: writing, reading and checking them.

`plan.json` is written first: the settings of the run that writes the store, and everything that its
rows have in common. `store.json` is written last: the same, and the shards with their checksums. A
folder without `store.json` is an unfinished store.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from safetensors.numpy import save

from myriad.codes import Code
from myriad.errors import InputError
from myriad.files import atomic_write, checksum, is_encodable, read_arrays, read_json
from myriad.serialisation import Serialisable, arrays_below, fingerprint, flatten, restore
from myriad.signatures import Signature
from myriad.store.shards import FLOATS, RowFormat, ShardRecord, check_bad

FORMAT = 1
PLAN, STORE, ARRAYS, INDEX = "plan.json", "store.json", "recipe.safetensors", "index.arrow"
STAGED = "staged.npy"
"""Rows that are staged for the shards of an unfinished store."""


@dataclass(frozen=True)
class Header:
    """The metadata that all rows of a store share.

    Attributes
    ----------
    code : the code of the rows, or None for floats.
    recipe : what turns an image into a row, if known.
    plan : the settings of the run that wrote the store; plain JSON.
    several : whether rows may have several labels.
    grouped : whether rows have groups, which are never divided between splits or folds.
    """

    class_names: list[str]
    dim: int
    dtype: str
    n_shards: int
    code: Code | None
    recipe: Signature | None
    plan: dict[str, Any]
    several: bool = False
    grouped: bool = False

    @cached_property
    def form(self) -> RowFormat:
        """The format of a row in a shard."""
        if self.code is None:
            return RowFormat(self.dtype, self.dim, self.several, self.grouped)
        width, code = self.code.bytes_per_row, fingerprint(self.code)
        return RowFormat(self.dtype, width, self.several, self.grouped, code)


def check_header(header: Header, where: str) -> None:
    """Raise `InputError` unless the fields are valid and consistent."""
    names = header.class_names
    if not isinstance(names, list) or not all(map(is_encodable, names)):
        raise InputError(f"{where}: the class names must be a list of valid texts.")
    if len(set(names)) != len(names):
        raise InputError(f"{where}: a class name appears twice.")
    for number in (header.dim, header.n_shards):
        if type(number) is not int or not 0 <= number < 2**31:
            raise InputError(f"{where}: the number of features or shards cannot be {number!r}.")
    if header.dim == 0:
        raise InputError(f"{where}: rows need at least one feature.")
    if header.dtype not in (("codes",) if header.code is not None else tuple(FLOATS)):
        raise InputError(f"{where}: rows of type {header.dtype!r} do not fit its code.")
    if header.code is not None and header.code.decoded_dim != header.dim:
        made = header.code.decoded_dim
        raise InputError(f"{where}: its code makes rows of {made} features, not {header.dim}.")
    if type(header.several) is not bool:
        raise InputError(f"{where}: whether rows have several labels must be true or false.")
    if type(header.grouped) is not bool:
        raise InputError(f"{where}: whether rows have groups must be true or false.")
    if not isinstance(header.plan, dict):
        raise InputError(f"{where}: the plan must be a JSON object.")


def write_arrays(folder: Path, header: Header) -> None:
    """Write the arrays of the code and the recipe."""
    arrays = {}
    for name, part in (("code", header.code), ("recipe", header.recipe)):
        if part is not None:
            arrays.update({f"{name}.{key}": array for key, array in flatten(part)[1].items()})
    with atomic_write(folder / ARRAYS) as partial_path:
        partial_path.write_bytes(save(arrays))


def header_to_json(folder: Path, header: Header) -> dict[str, Any]:
    """Return the header as JSON, with the checksum of its arrays."""
    parts = {"code": header.code, "recipe": header.recipe}
    settings = {name: None if part is None else flatten(part)[0] for name, part in parts.items()}
    return {
        "format": FORMAT,
        "class_names": header.class_names,
        "dim": header.dim,
        "dtype": header.dtype,
        "n_shards": header.n_shards,
        "several": header.several,
        "grouped": header.grouped,
        **settings,
        "arrays": asdict(record_file(folder / ARRAYS, 0)),
        "plan": header.plan,
    }


def read_header(path: Path) -> tuple[Header, dict[str, Any]]:
    """Read `plan.json` or `store.json` and the arrays; return the header and all the JSON."""
    try:
        content = read_json(path)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    if content.get("format") != FORMAT:
        raise InputError(f"{path} is damaged or of a newer version: it is not of format {FORMAT}.")
    verify_file(path.parent / ARRAYS, read_record(content.get("arrays"), path))
    arrays = read_arrays(path.parent / ARRAYS)
    try:
        code = _restore(content.get("code"), arrays_below(arrays, "code"), Code)
        recipe = _restore(content.get("recipe"), arrays_below(arrays, "recipe"), Signature)
    except RecursionError:
        raise InputError(f"{path} is damaged: its objects are nested too deeply.") from None
    plain = {
        name: content.get(name) for name in ("class_names", "dim", "dtype", "n_shards", "plan")
    }
    kinds = {name: content.get(name, False) for name in ("several", "grouped")}
    header = Header(**plain, code=code, recipe=recipe, **kinds)  # type: ignore[arg-type]
    check_header(header, f"{path} is damaged")
    return header, content


def read_plan(folder: Path) -> dict[str, Any]:
    """Return the settings of the run that wrote or began the store in a folder."""
    return read_header(folder / PLAN)[0].plan


def read_record(item: Any, path: Path) -> ShardRecord:
    """Return the size and checksum of a file that a JSON file records."""
    try:
        record = ShardRecord(**item)
    except TypeError:
        raise InputError(f"{path} is damaged: the record of a file is not valid.") from None
    numbers = (record.rows, record.bytes)
    if (
        not all(type(n) is int and 0 <= n < 2**62 for n in numbers)
        or type(record.sha256) is not str
    ):
        raise InputError(f"{path} is damaged: the record of a file is not valid.")
    return record


def read_records(content: dict[str, Any], n_shards: int, path: Path) -> list[ShardRecord]:
    """Return the records of all shards."""
    items = content.get("shards")
    if not isinstance(items, list) or len(items) != n_shards:
        raise InputError(f"{path} is damaged: it does not list its {n_shards} shards.")
    return [read_record(item, path) for item in items]


def read_bad(content: dict[str, Any], path: Path) -> list[dict[str, str]]:
    """Return the list of bad images."""
    return check_bad(content.get("bad"), path)


def record_file(path: Path, rows: int) -> ShardRecord:
    """Return the number of rows, size and checksum of a file."""
    return ShardRecord(rows, path.stat().st_size, checksum(path))


def check_size(path: Path, record: ShardRecord, bytes_per_row: int = 0) -> None:
    """Raise `InputError` unless the file exists, has the recorded size, and can hold its rows."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} is missing or cannot be read: {error.strerror}.") from None
    if size != record.bytes:
        raise InputError(
            f"{path} is damaged: it has {size} bytes instead of {record.bytes}. "
            f"Make the store again, or restore it from a copy."
        )
    if record.rows * bytes_per_row > size:
        raise InputError(
            f"{path} has {size} bytes, too few for {record.rows} rows of {bytes_per_row} bytes: "
            f"it or {STORE} is damaged."
        )


def verify_file(path: Path, record: ShardRecord) -> None:
    """Raise `InputError` unless the file has the recorded size and checksum."""
    check_size(path, record)
    try:
        found = checksum(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    if found != record.sha256:
        raise InputError(
            f"{path} is damaged: its checksum is not the recorded one. "
            f"Make the store again, or restore it from a copy."
        )


def _restore(settings: Any, arrays: dict[str, Any], expected: type[Serialisable]) -> Any:
    return None if settings is None else restore(settings, arrays, expected)
