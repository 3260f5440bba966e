"""Model folders: `model.safetensors`, `config.json` and a model card.

Loading a model folder executes no code from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError, WorkError
from myriad.files import (
    atomic_writes,
    checksum,
    dump_json,
    is_encodable,
    read_arrays,
    read_json,
    write_arrays,
)
from myriad.models.calibration.classes import Calibration
from myriad.models.calibration.held_scores import HeldScores
from myriad.models.calibration.labels import LabelCalibration
from myriad.models.class_pictures import PICTURES, ClassPictures
from myriad.models.model import Model
from myriad.serialisation import arrays_below, flatten, restore
from myriad.signatures import Signature

FORMAT = 1
CONFIG, ARRAYS, CARD = "config.json", "model.safetensors", "README.md"
SCORES = "held_scores.safetensors"


@dataclass(frozen=True)
class ModelFolder:
    """The content of a model folder.

    Attributes
    ----------
    model : the classifier.
    class_names : the name of each class, in the order of the scores.
    recipe : turns an image into a row; None if the model was trained on given rows.
    settings : the settings of training, as plain JSON.
    trained_from : identifies the data and the options of training, as plain JSON; None in models
        of earlier versions.
    calibration : maps scores to probabilities; None if the model is not calibrated.
    label_calibration : the same for rows with several labels each.
    """

    model: Model
    class_names: list[str]
    recipe: Signature | None
    settings: dict[str, Any]
    trained_from: dict[str, Any] | None = None
    calibration: Calibration | None = None
    label_calibration: LabelCalibration | None = None


def save_model(
    folder: Path,
    contents: ModelFolder,
    *,
    card: str,
    texts: Mapping[str, str] | None = None,
    held_scores: HeldScores | None = None,
    pictures: ClassPictures | None = None,
) -> None:
    """Write a model folder; all its files are complete before the first one is replaced.

    Other files in the folder are kept.

    Parameters
    ----------
    card : the text of README.md.
    texts : the text of further files, by name.
    held_scores : scores of held-out rows, or None.
    pictures : a small picture of each class, or None.
    """
    parts: dict[str, Any] = {}
    tensors: dict[str, np.ndarray] = {}
    for part in ("model", "recipe", "calibration", "label_calibration"):
        item = getattr(contents, part)
        if item is not None:
            parts[part], arrays = flatten(item)
            tensors |= {f"{part}.{name}": array for name, array in arrays.items()}
    texts = {CARD: card, **(texts or {})}
    extras = {SCORES: None, PICTURES: None} | {
        **({} if held_scores is None else {SCORES: held_scores.to_arrays()}),
        **({} if pictures is None else {PICTURES: pictures.to_arrays(contents.class_names)}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    written = {name: arrays for name, arrays in extras.items() if arrays is not None}
    names = [ARRAYS, CONFIG, *texts, *written]
    with atomic_writes(*(folder / name for name in names)) as partial_paths:
        partial = dict(zip(names, partial_paths, strict=True))
        array_file, config_file = partial[ARRAYS], partial[CONFIG]
        config_file.touch()  # `is_model` recognises an interrupted run by it
        for name, arrays in written.items():
            _write_tensors(partial[name], arrays)
        for name, text in texts.items():
            partial[name].write_text(text, encoding="utf-8", errors="backslashreplace")
        _write_tensors(array_file, tensors)
        config = {
            "format": FORMAT,
            "checksum": checksum(array_file),
            "class_names": contents.class_names,
            "settings": contents.settings,
            **parts,
        }
        if contents.trained_from is not None:
            config["trained_from"] = contents.trained_from
        config_file.write_text(dump_json(config), encoding="utf-8")
    for name in extras.keys() - written.keys():
        (folder / name).unlink(missing_ok=True)  # those of an earlier model


def is_model(folder: Path) -> bool:
    """Return whether a folder has a model, or the rest of one whose writing was interrupted."""
    if (folder / f".{CONFIG}.part").is_file():
        return True
    try:
        config = read_json(folder / CONFIG)
    except InputError:
        return False
    return {"format", "checksum", "class_names", "model"} <= config.keys()


def load_model(folder: Path) -> ModelFolder:
    """Read a model folder; `InputError` if a file is missing, damaged or of another model."""
    if not folder.exists():
        raise InputError(f"{folder} does not exist. Give a model folder that train has written.")
    if not (folder / CONFIG).is_file():
        raise InputError(f"{folder} is not a model folder: it has no config.json.")
    config = read_json(folder / CONFIG)
    if config.get("format") != FORMAT:
        raise InputError(
            f"{folder / CONFIG} has format {config.get('format')!r}, "
            f"this version of myriad reads format {FORMAT}."
        )
    tensors = _read_tensors(folder / ARRAYS, config.get("checksum"))
    try:
        model = restore(config.get("model"), arrays_below(tensors, "model"), Model)
        recipe, calibration, label_calibration = (
            restore(config[part], arrays_below(tensors, part), kind) if config.get(part) else None
            for part, kind in (
                ("recipe", Signature),
                ("calibration", Calibration),
                ("label_calibration", LabelCalibration),
            )
        )
    except InputError as error:
        raise InputError(f"The model in {folder} is damaged: {error}") from None
    except RecursionError:
        raise InputError(f"The model in {folder} is damaged: it is nested too deeply.") from None
    names = config.get("class_names")
    settings = config.get("settings")
    if not isinstance(names, list) or not all(map(is_encodable, names)):
        raise InputError(f"{folder / CONFIG} is damaged: it lists no class names.")
    if len(set(names)) != len(names):
        raise InputError(f"{folder / CONFIG} is damaged: a class name appears twice.")
    if len(names) != model.n_classes:
        raise InputError(
            f"The model in {folder} is damaged: it has {len(names)} class names for "
            f"{model.n_classes} classes."
        )
    if label_calibration is not None and len(label_calibration.offsets) != len(names):
        raise InputError(f"The model in {folder} is damaged: its calibration has other classes.")
    settings = settings if isinstance(settings, dict) else {}
    source = _read_source(config)
    return ModelFolder(model, names, recipe, settings, source, calibration, label_calibration)


def load_held_scores(folder: Path, n_classes: int) -> HeldScores | None:
    """Return the scores of held-out rows of the model in a folder; None if missing.

    Raises `InputError` if they are damaged, or of another number of classes.
    """
    path = folder / SCORES
    if not path.is_file():
        return None
    try:
        return HeldScores.from_arrays(read_arrays(path), n_classes)
    except InputError as error:
        raise InputError(f"{error} Remove {path} to do without probabilities.") from None


def read_source(folder: Path) -> dict[str, Any] | None:
    """Return the `trained_from` of the model in a folder; None if it is not recorded."""
    return _read_source(read_json(folder / CONFIG))


def _read_source(config: dict[str, Any]) -> dict[str, Any] | None:
    source = config.get("trained_from")
    return source if isinstance(source, dict) else None


def _write_tensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    try:
        write_arrays(path, tensors)
    except OSError as error:
        raise WorkError(
            f"{path.with_name(ARRAYS)} cannot be written: {error.strerror or error}. Free disk "
            "space or choose another folder, then run the command again."
        ) from None


def _read_tensors(path: Path, expected: Any) -> dict[str, np.ndarray]:
    if not path.is_file():
        raise InputError(f"{path} is missing: the model folder is not complete.")
    if checksum(path) != expected:
        raise InputError(f"{path} is damaged, or belongs to another model: its checksum differs.")
    return read_arrays(path)
