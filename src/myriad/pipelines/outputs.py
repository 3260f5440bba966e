"""Checks and replacement of outputs: existing files are never lost by a mistake or a failure."""

from __future__ import annotations

import functools
import inspect
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from myriad.errors import InputError
from myriad.files import partial_of
from myriad.images import BadImage
from myriad.images.listing import is_image_name
from myriad.images.reading import find_reader
from myriad.locks import is_lock, locked
from myriad.models import is_model
from myriad.pipelines.run import DEFAULT_RUN
from myriad.store import Store, holds_only_store, is_store
from myriad.store.formats import is_row_data
from myriad.store.manifest import STORE
from myriad.urls import UrlPath, as_path, refuse_url

EXISTS_HINT = "Use --resume to resume it, --overwrite to replace it, or another name."
Options = ParamSpec("Options")
Result = TypeVar("Result")


@dataclass(frozen=True)
class WrittenStore:
    """A finished store, and the seconds that it took."""

    store: Store
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that the command prints."""
        return {
            "store": str(self.store.path),
            "rows": self.store.n_rows,
            "bad": len(self.store.bad),
            "dim": self.store.dim,
            "bytes_per_row": self.store.bytes_per_row,
            "seconds": round(self.seconds, 3),
        }


def locks_output(
    name: str = "out", *, with_store: bool = False, is_file: bool = False
) -> Callable[[Callable[Options, Result]], Callable[Options, Result]]:
    """Decorate a job so that it holds the lock of the output that it writes.

    Parameters
    ----------
    name : the argument that is the path of the output.
    with_store : whether the job makes rows of the images in `data`, in `store` or beside the
        output; that store is locked too.
    is_file : whether the output is a file, whose folder must exist.
    """

    def decorate(job: Callable[Options, Result]) -> Callable[Options, Result]:
        signature = inspect.signature(job)

        @functools.wraps(job)
        def run(*arguments: Options.args, **options: Options.kwargs) -> Result:
            given = signature.bind(*arguments, **options).arguments
            out, store = given[name], None
            if with_store and not is_store(given["data"]):
                store = given.get("store") or store_beside(out)
            progress = given.get("run", DEFAULT_RUN).progress
            with locked(out, store, make_parents=not is_file, progress=progress):
                return job(*arguments, **options)

        return run

    return decorate


def check_model_output(
    folder: Path, *, overwrite: bool, resume: bool, store: Path | None = None
) -> None:
    """Raise `InputError` unless a model may be saved in `folder`.

    Nothing is removed: the files of a model are replaced by those of the new one when it is ready,
    and other files in the folder stay.

    Parameters
    ----------
    store : where the rows are written; it may be inside the folder, but not the folder itself.
    """
    rows = None if store is None else os.path.realpath(store)
    if rows == os.path.realpath(folder):
        raise InputError(f"--store and --out are both {folder}: name two different folders.")
    inside = [path for path in list_entries(folder) if os.path.realpath(path) != rows]
    if inside and not is_model(folder):
        raise InputError(
            f"{folder} contains files that are not a model of myriad. Use another name."
        )
    if inside and not (overwrite or resume):
        raise InputError(f"{folder} exists. {EXISTS_HINT}")
    check_writable(folder)


def prepare_store(folder: Path, *, overwrite: bool, resume: bool) -> Path:
    """Return the folder to write a store to: `folder`, or one beside it; see `replace_store`.

    A finished store that is overwritten stays until the new one, written beside it, is finished
    too. Only files of a store are ever removed.
    """
    check_writable(folder)
    new, old = _beside(folder, "new"), _beside(folder, "old")
    if old.exists() and not folder.exists():  # killed between the two renames
        old.rename(folder.resolve())
    held, begun = bool(list_entries(folder)), bool(list_entries(new))
    if held and not holds_only_store(folder):
        raise InputError(
            f"{folder} holds files that do not belong to a store, so no store is put there. "
            "Use another name."
        )
    if not (overwrite or resume):
        if held:
            raise InputError(f"{folder} exists. {EXISTS_HINT}")
        if begun:
            raise InputError(
                f"{folder} was being replaced when a run was interrupted. {EXISTS_HINT}"
            )
    if old.exists():  # killed after that
        _remove_store(old)
    if overwrite and begun:
        _remove_store(new)
        begun = False
    work = folder
    if begun or (overwrite and (folder / STORE).exists()):
        work = new
    elif overwrite and held:
        _remove_store(folder)
    work.mkdir(parents=True, exist_ok=True)
    return work


def replace_store(work: Path, folder: Path) -> None:
    """Replace the old store in `folder` by a finished store that was written beside it."""
    if work == folder:
        return
    target, old = folder.resolve(), _beside(folder, "old")  # links resolved: the same disk
    if target.exists():
        target.rename(old)
    work.rename(target)
    if old.exists():
        _remove_store(old)


def store_beside(model: Path) -> Path:
    """Return the default path of the store of a model."""
    path = model if model.name not in ("", "..") else model.resolve()
    if not path.name:
        raise InputError(f"--out {model} cannot hold a model: name a folder.")
    return path.with_name(f"{path.name}.store")


def store_is_begun(store: Path) -> bool:
    """Return whether there is a store, finished or not, or one that is to replace it."""
    return any(is_store(folder) for folder in (store, _beside(store, "new"), _beside(store, "old")))


def training_beside(model: Path) -> Path:
    """Return the folder of the checkpoints of a training."""
    return _beside(model, "training")


def worker_files_beside(store: Path) -> Path:
    """Return the folder that workers share while they learn a vocabulary or a code."""
    return _beside(store, "pieces")


def prepare_results(folder: Path, names: tuple[str, ...], *, overwrite: bool, resume: bool) -> None:
    """Make a folder for results; existing files of these names are replaced only on request."""
    check_writable(folder)
    partial = {partial_of(folder / name) for name in names}  # left by a run that was killed
    held = [path.name for path in list_entries(folder) if path not in partial]
    if set(held) & set(names) and not (overwrite or resume):
        raise InputError(f"{folder} exists. {EXISTS_HINT}")
    if held and not set(held) & set(names) and not resume:
        raise InputError(f"{folder} is not empty: choose a new folder for the results.")
    folder.mkdir(parents=True, exist_ok=True)


def page_beside(store: Path) -> Path:
    """Return the default path of the report of a store, which is beside the store.

    That of a store at a URL goes into the folder where the command runs.
    """
    if isinstance(as_path(store), UrlPath):
        return Path(f"{store.name}.html")
    path = store if store.name not in ("", "..") else store.resolve()
    return path.with_name(f"{path.name}.html")


def check_beside(data: Path) -> Path:
    """Return the default folder of what a check of some data finds: where the command runs.

    Data may be in a folder that cannot be written to.
    """
    name = as_path(data).name
    name = name if name not in ("", "..") else data.resolve().name
    return Path(f"{name}.check")


def check_file_output(
    path: Path, *, option: str, overwrite: bool, is_picture: bool = False
) -> None:
    """Raise `InputError` unless a file may be written at `path`, which an option names.

    Parameters
    ----------
    is_picture : whether a picture is written; other files never replace an image.
    """
    refuse_url(path)
    if path.exists() and not path.is_file():
        raise InputError(f"{option} {path} is not a regular file: name a file to write.")
    if path.exists() and not overwrite:
        raise InputError(f"{option} {path} exists. Use --overwrite to replace it.")
    if not is_picture and path.exists() and _is_image(path):
        raise InputError(f"{option} {path} is an image, which is not replaced: name another file.")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: the folder {path.parent} does not exist.")
    check_writable(path)


def refuse_input(path: Path, *, option: str, inputs: Iterable[Path]) -> None:
    """Raise `InputError` if a file or folder that an option names is an input of the same run.

    Parameters
    ----------
    inputs : files and folders, and also names that are no paths. A file in one of the folders is an
        input if it is an image, or belongs to a model, a store or rows.
    """
    if isinstance(path, UrlPath):
        return
    if any(_is_read(path, given) for given in inputs):
        raise InputError(f"{option} {path} is an input of this run: use another name.")


def _is_read(path: Path, given: Path) -> bool:
    """Return whether a file is an input, or is in a folder that is one and is read from there."""
    try:
        if isinstance(given, UrlPath) or not (given.exists() and path.exists()):
            return False
        if path.is_dir() or given.is_file():
            return path.samefile(given)
        inside = path.resolve().is_relative_to(given.resolve())
    except (OSError, ValueError, RuntimeError):  # no path, or links that form a loop
        return False
    if inside and (is_model(given) or is_store(given)):
        return path.suffix in (".json", ".safetensors", ".arrow")
    return inside and (is_image_name(path.name) or (is_row_data(path) and is_row_data(given)))


def _is_image(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            find_reader(stream.read(32))
    except (BadImage, OSError):
        return False
    return True


def list_entries(folder: Path) -> list[Path]:
    """Return what is in a folder, except locks; nothing if there is no folder."""
    if not os.path.lexists(folder):
        return []
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the output.")
    return [path for path in folder.iterdir() if not is_lock(path)]


def check_writable(path: Path) -> None:
    """Raise `InputError` if an output cannot be written, as far as that is known beforehand."""
    refuse_url(path)
    nearest = path.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not os.access(nearest, os.W_OK):
        raise InputError(
            f"{path} cannot be written: no permission for {nearest}. Choose another path or "
            "change its permissions."
        )


def _beside(folder: Path, word: str) -> Path:
    path = folder.resolve()
    return path.with_name(f".{path.name}.{word}")


def _remove_store(folder: Path) -> None:
    """Remove a folder that holds a store and nothing else."""
    if not holds_only_store(folder):
        raise InputError(f"{folder} holds files that do not belong to a store: move them away.")
    shutil.rmtree(folder)
