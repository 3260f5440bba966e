"""Explain a prediction as a picture of the parts that support or oppose a class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2

from myriad.arrays import Bytes
from myriad.errors import InputError, MyriadError
from myriad.files import atomic_write
from myriad.images import BadImage, read_image
from myriad.models import Explanation, ModelFolder, explain_image, load_model
from myriad.parallel import thread_executor
from myriad.pipelines.describing.image_rows import signature_of
from myriad.pipelines.evidence.documentation import read_picture

FORMATS = (".png", ".jpg", ".jpeg", ".webp")


@dataclass(frozen=True)
class Explained:
    """An explanation, and the picture of it."""

    picture: Path
    image: Path
    explanation: Explanation

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``explain`` prints."""
        explanation = self.explanation.to_json()
        return {"picture": str(self.picture), "path": str(self.image), **explanation}


class MistakeExplainer:
    """Draws why a model, loaded when needed, misclassified an image."""

    def __init__(self, model: Path) -> None:
        self._model = model

    @cached_property
    def _folder(self) -> ModelFolder:
        return load_model(self._model)

    def __call__(self, path: str, guess: str, truth: str) -> Bytes | None:
        """Return the image with the parts that support `guess` rather than `truth`, RGB.

        None if the image is missing, or if the model cannot be explained.
        """
        signature = self._folder.recipe
        if signature is None:
            return None
        image = read_picture(path, colour=signature.colour, pixels=signature.pixels)
        try:
            if image is not None:
                return explain_image(self._folder, image, guess, truth).draw(image)
        except MyriadError:
            pass
        return None


def explain(
    model: Path, image: Path, out: Path, *, label: str | None = None, against: str | None = None
) -> Explained:
    """Draw which parts of an image support a class; see `explain_image`."""
    if out.suffix.lower() not in FORMATS:
        raise InputError(f"--out {out} must end with one of {', '.join(FORMATS)}.")
    folder = load_model(model)
    signature = signature_of(folder)
    try:
        pixels = read_image(image, colour=signature.colour)
        with thread_executor(1):
            explanation = explain_image(folder, pixels, label, against)
    except BadImage as bad:
        raise InputError(f"{image} cannot be used: {bad.reason}.") from None
    drawn = cv2.cvtColor(explanation.draw(pixels), cv2.COLOR_RGB2BGR)
    done, coded = cv2.imencode(out.suffix.lower(), drawn)
    assert done
    with atomic_write(out) as beside:
        beside.write_bytes(coded.tobytes())
    return Explained(out, image, explanation)
