"""A model as it is served: its classes can be searched, and their pictures shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.files import read_json
from myriad.images import BadImage, read_image
from myriad.models import (
    Assignment,
    ClassPictures,
    Decider,
    ModelFolder,
    Rejection,
    load_model,
    load_pictures,
    split_labels,
    weigh_classes,
)
from myriad.models.explanations import map_heat
from myriad.models.folder import ARRAYS, CONFIG
from myriad.pipelines.predicting.decision_options import read_prior
from myriad.serving.options import ServeOptions
from myriad.signatures import Signature

MOST_FOUND = 50
"""Classes that a search returns, at most."""
MOST_DECIDERS = 32
"""Settings of requests whose deciders are kept."""


@dataclass(frozen=True, eq=False)
class DecisionRules:
    """The decision options of a server; None for those that were not given.

    Attributes
    ----------
    reject : when no label is given.
    prior : weights of labels.
    assign : which labels are given where rows may have several.
    """

    reject: Rejection | None = None
    prior: Mapping[str, float] | None = None
    assign: Assignment | None = None

    @classmethod
    def read(cls, options: ServeOptions) -> DecisionRules:
        """Return the rules that options state; `InputError` if one is wrong."""
        return cls(
            None if options.reject is None else Rejection.parse(options.reject),
            None if options.prior is None else read_prior(Path(options.prior)),
            None if options.assign is None else Assignment.parse(options.assign),
        )


@dataclass(frozen=True, eq=False)
class ServedModel:
    """The content of a model folder when it was read; a request uses the same one to its end.

    Attributes
    ----------
    name : the name of the folder.
    folder : the model, its class names and its signature.
    checksum : identifies the model's arrays.
    pictures : a training picture of each class, or None.
    state : changes when the files in the folder do; see `read_state`.
    rules : the decision options of the server.
    """

    name: str
    folder: ModelFolder
    checksum: str
    pictures: ClassPictures | None
    state: tuple[int, ...] = field(repr=False)
    rules: DecisionRules = field(default=DecisionRules(), repr=False)

    @classmethod
    def load(cls, path: Path, rules: DecisionRules | None = None) -> ServedModel:
        """Read a model folder; raises `InputError` if it is damaged."""
        state = read_state(path)
        folder = load_model(path)
        checksum = str(read_json(path / CONFIG).get("checksum", ""))
        pictures = load_pictures(path, folder.class_names)
        name, *names = map(_escape, [path.resolve().name, *folder.class_names])
        folder = replace(folder, class_names=names)
        return cls(name, folder, checksum, pictures, state, rules or DecisionRules())

    @property
    def signature(self) -> Signature | None:
        """Turns images into rows; None if the model takes rows only."""
        return self.folder.recipe

    @property
    def class_names(self) -> list[str]:
        """The name of each class."""
        return self.folder.class_names

    @cached_property
    def _deciders(self) -> dict[tuple[Any, ...], Decider]:
        return {}

    def find_decider(
        self,
        *,
        coverage: float | None = None,
        only: tuple[str, ...] = (),
    ) -> Decider:
        """Return the decider for some settings; equal settings give the same object.

        Raises `InputError` if the model has no such label or no probabilities.

        Parameters
        ----------
        coverage : of prediction sets; None for no sets.
        only : labels to choose from, each alone or several with commas; all if empty.
        """
        key = (coverage, only)
        if key not in self._deciders:
            chosen = [label for text in only for label in split_labels(text, self.numbers)]
            decider = Decider(
                self.folder,
                weights=weigh_classes(self.class_names, chosen if only else None, self.rules.prior),
                coverage=coverage,
                reject=self.rules.reject,
                assign=self.rules.assign,
            )
            if len(self._deciders) >= MOST_DECIDERS:
                self._deciders.clear()
            self._deciders[key] = decider
        return self._deciders[key]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each class by its name."""
        return {name: c for c, name in enumerate(self.class_names)}

    @cached_property
    def _folded(self) -> list[str]:
        return [name.casefold() for name in self.class_names]

    def search(self, text: str, limit: int) -> list[int]:
        """Return the classes whose name contains a text: equal ones, then those that begin with it.

        Upper and lower case are the same. Without a text, the first classes.
        """
        wanted = text.casefold().strip()
        found = [c for c, name in enumerate(self._folded) if wanted in name]

        def order(c: int) -> tuple[bool, bool, int]:
            return self._folded[c] != wanted, not self._folded[c].startswith(wanted), c

        return sorted(found, key=order)[:limit]

    def describe(self) -> dict[str, Any]:
        """Return the facts about the model for the page and the API."""
        return {
            "name": self.name,
            "classes": len(self.class_names),
            "features": self.folder.model.dim,
            "images": self.signature is not None,
            "calibrated": self.folder.calibration is not None,
            "several_labels": self.folder.label_calibration is not None,
            "checksum": self.checksum,
        }


def read_state(path: Path) -> tuple[int, ...]:
    """Return numbers that change when a model folder is written; empty if it has no files."""
    found: list[int] = []
    for name in (CONFIG, ARRAYS):
        try:
            status = (path / name).stat()
        except OSError:
            return ()
        found += [status.st_mtime_ns, status.st_ino, status.st_size]
    return tuple(found)


@dataclass(frozen=True)
class ImageWork:
    """The task of worker processes for an image file: describe it, or explain its score."""

    signature: Signature
    max_pixels: int

    def __call__(self, task: tuple[bytes, NDArray[np.float32] | None]) -> Any:
        """Return the row of an image; with weights, the heat map of the score ``weights @ row``.

        An image that cannot be used returns the `BadImage`.
        """
        content, weights = task
        try:
            image = read_image(
                content,
                colour=self.signature.colour,
                max_pixels=self.max_pixels,
                min_pixels=self.signature.pixels,
            )
            if weights is None:
                return self.signature.describe(image)
            return map_heat(self.signature, image, weights)
        except BadImage as bad:
            return bad


def _escape(name: str) -> str:
    """Return a name whose bytes that are not Unicode are escaped: JSON cannot hold them."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
