"""The model folder: `model.safetensors`, `config.json` and a card. Loading runs no code from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from myriad.errors import InputError
from myriad.files import checksum, dump_json, read_json, written_whole
from myriad.models.model import Model
from myriad.parts import arrays_below, flatten, restore
from myriad.signatures import Signature

FORMAT = 1


@dataclass(frozen=True)
class ModelFolder:
    """All that a model folder holds.

    Attributes
    ----------
    model : the classifier.
    class_names : a name for each class, in the order of the scores.
    recipe : what turns an image into a row, or None for a model of ready-made rows.
    settings : how it was trained, as plain JSON.
    """

    model: Model
    class_names: list[str]
    recipe: Signature | None
    settings: dict[str, Any]


def save_model(folder: Path, contents: ModelFolder, *, card: str) -> None:
    """Write a model folder: arrays and config are both ready before either takes its place.

    Other files in the folder stay.
    """
    settings, arrays = flatten(contents.model)
    parts: dict[str, Any] = {"model": settings}
    tensors = {f"model.{name}": array for name, array in arrays.items()}
    if contents.recipe is not None:
        parts["recipe"], arrays = flatten(contents.recipe)
        tensors |= {f"recipe.{name}": array for name, array in arrays.items()}
    folder.mkdir(parents=True, exist_ok=True)
    with written_whole(folder / "README.md") as beside:
        beside.write_text(card, encoding="utf-8")
    with (
        written_whole(folder / "config.json") as config_file,
        written_whole(folder / "model.safetensors") as array_file,
    ):
        save_file(tensors, array_file)
        config = {
            "format": FORMAT,
            "checksum": checksum(array_file),
            "class_names": contents.class_names,
            "settings": contents.settings,
            **parts,
        }
        config_file.write_text(dump_json(config), encoding="utf-8")


def load_model(folder: Path) -> ModelFolder:
    """Read a model folder back; a missing, damaged or swapped file is an `InputError`."""
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} is not a model folder: it has no config.json.")
    config = read_json(folder / "config.json")
    if config.get("format") != FORMAT:
        raise InputError(
            f"{folder / 'config.json'} has format {config.get('format')!r}, "
            f"this version of myriad reads format {FORMAT}."
        )
    tensors = _read_tensors(folder / "model.safetensors", config.get("checksum"))
    try:
        model = restore(config.get("model"), arrays_below(tensors, "model"), Model)
        recipe = None
        if config.get("recipe") is not None:
            recipe = restore(config["recipe"], arrays_below(tensors, "recipe"), Signature)
    except InputError as error:
        raise InputError(f"The model in {folder} is damaged: {error}") from None
    names = config.get("class_names")
    settings = config.get("settings")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{folder / 'config.json'} is damaged: it lists no class names.")
    if len(names) != model.n_classes:
        raise InputError(
            f"The model in {folder} is damaged: it has {len(names)} class names for "
            f"{model.n_classes} classes."
        )
    return ModelFolder(model, names, recipe, settings if isinstance(settings, dict) else {})


def _read_tensors(path: Path, expected: Any) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise InputError(f"{path} is missing: the model folder is not complete.")
    if checksum(path) != expected:
        raise InputError(f"{path} is damaged, or belongs to another model: its checksum differs.")
    try:
        return load_file(path)
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(f"{path} is damaged: {error}.") from None
