"""Models of coded rows: plain rows are encoded and decoded as in training before scoring."""

from __future__ import annotations

from dataclasses import dataclass, replace

from myriad.arrays import Float, Ints
from myriad.codes import Code
from myriad.errors import InputError
from myriad.models.linear import LinearModel
from myriad.models.model import Model
from myriad.serialisation import check_type, fingerprint


@dataclass(frozen=True, eq=False)
class CodedModel(Model, kind="coded"):
    """A model trained on decoded rows, for plain rows.

    Attributes
    ----------
    code : encodes and decodes plain rows, so that the model scores rows like those of training.
    model : scores decoded rows.
    rounded : whether rows are encoded; otherwise they are only projected to the space of decoded
        rows.
    """

    code: Code
    model: Model
    rounded: bool = True

    def __post_init__(self) -> None:
        check_type(self.code, Code, "The code of a model of coded rows")
        check_type(self.model, Model, "The model of coded rows")
        check_type(self.rounded, bool, "Whether a model codes its rows")
        if self.code.decoded_dim != self.model.dim:
            raise InputError(
                f"A code that makes rows of {self.code.decoded_dim} features does not fit a model "
                f"of {self.model.dim}."
            )

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.model.n_classes

    @property
    def dim(self) -> int:
        """The number of features of a plain row."""
        return self.code.dim

    def scores(self, X: Float) -> Float:
        """Return the scores of plain rows, float32 of shape (n_samples, n_classes)."""
        return self.model.scores(self.prepare(X))

    def scores_of(self, X: Float, classes: slice) -> Float:
        """Return the scores of some classes only."""
        return self.model.scores_of(self.prepare(X), classes)

    def relabelled(self, labels: Ints) -> CodedModel:
        """Return the model with another label for each class; see `Model.relabelled`."""
        return replace(self, model=self.model.relabelled(labels))

    def with_classes(self, others: LinearModel) -> CodedModel:
        """Return the model with more classes, whose weights are for decoded rows."""
        return replace(self, model=self.model.with_classes(others))

    def prepare(self, X: Float) -> Float:
        """Return plain rows as decoded ones, such as the model was trained on."""
        if self.rounded:
            return self.code.decode(self.code.encode(X))
        return self.code.project(X)


@dataclass(frozen=True, eq=False)
class ExpandedModel(Model):
    """A model of plain rows, for decoded rows of a code that changes the space of rows."""

    code: Code
    model: Model

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.model.n_classes

    @property
    def dim(self) -> int:
        """The number of features of a decoded row."""
        return self.code.decoded_dim

    def scores(self, X: Float) -> Float:
        """Return the scores of decoded rows, float32 of shape (n_samples, n_classes)."""
        return self.model.scores(self.prepare(X))

    def prepare(self, X: Float) -> Float:
        """Return decoded rows as plain ones."""
        return self.code.expand(X)


def make_plain(model: Model, code: Code | None) -> Model:
    """Return a model for plain rows, given one that was trained on decoded rows.

    If the code restores plain rows, the model itself is returned.
    """
    return model if code is None or code.restores else CodedModel(code, model)


def match_rows(model: Model, code: Code | None, where: str) -> Model:
    """Return a model for the rows of a store, given one of plain rows and the store's code.

    Parameters
    ----------
    where : name of the rows in error messages.
    """
    if code is None or code.restores:
        return model
    if not isinstance(model, CodedModel):
        return ExpandedModel(code, model)
    if fingerprint(model.code) != fingerprint(code):
        raise InputError(
            f"The rows of {where} are coded by another code than that of the model, so its scores "
            "would be meaningless. Use plain rows, or code them like the training rows."
        )
    return model.model
