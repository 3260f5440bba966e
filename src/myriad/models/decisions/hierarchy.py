"""A hierarchy of classes: answers at the deepest level of which the model is sure enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Ints
from myriad.errors import InputError

CONFIDENCE = 0.8
"""Default probability with which an answer must be right."""


@dataclass(frozen=True, eq=False)
class Level:
    """A level above the classes.

    Attributes
    ----------
    name : such as ``genus``.
    groups : the names of its groups.
    members : int32 array of shape (n_classes,), the group of each class.
    """

    name: str
    groups: tuple[str, ...]
    members: Ints

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.members, kind="stable")

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.searchsorted(self.members[self._order], np.arange(len(self.groups)))

    def add_up(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the groups, of shape (n_rows, n_groups)."""
        summed: NDArray[np.float64] = np.add.reduceat(
            probabilities[:, self._order], self._starts, axis=1
        )
        return summed


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Levels of groups of classes, from the finest to the coarsest."""

    levels: tuple[Level, ...]

    @classmethod
    def of(
        cls, class_names: Sequence[str], table: Mapping[str, Sequence[str]], names: Sequence[str]
    ) -> Hierarchy:
        """Return the hierarchy of the classes of a model.

        Parameters
        ----------
        table : the groups of each class, one for each level.
        names : of the levels, from the finest to the coarsest.
        """
        missing = [name for name in class_names if name not in table]
        if missing:
            more = f" and {len(missing) - 1} more labels" if len(missing) > 1 else ""
            raise InputError(f"The hierarchy has no row for the label {missing[0]!r}{more}.")
        levels = []
        for number, name in enumerate(names):
            found = [table[label][number] for label in class_names]
            groups = tuple(dict.fromkeys(found))
            index = {group: i for i, group in enumerate(groups)}
            levels.append(Level(name, groups, np.array([index[g] for g in found], np.int32)))
        for fine, coarse in pairwise(levels):
            check_nested(fine, coarse)
        return cls(tuple(levels))

    def decide(
        self, probabilities: NDArray[np.float64], confidence: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return the deepest level whose best group is sure enough, that group, its probability.

        The level is 0 for the classes themselves, 1 and on for `levels`, and -1 if no level is sure
        enough; the group is then the best of the coarsest level.

        Parameters
        ----------
        probabilities : float64 array of shape (n_rows, n_classes)
        confidence : least probability of an answer.
        """
        n_rows = len(probabilities)
        level = np.full(n_rows, -1)
        group, value = np.zeros(n_rows, np.int64), np.zeros(n_rows)
        for number in range(len(self.levels) + 1):
            summed = self.add_up(probabilities, number)
            undecided = level < 0
            best = summed.argmax(axis=1)
            highest = summed[np.arange(n_rows), best]
            group[undecided], value[undecided] = best[undecided], highest[undecided]
            level[undecided & (highest >= confidence)] = number
        return level, group, value

    def add_up(self, probabilities: NDArray[np.float64], level: int) -> NDArray[np.float64]:
        """Return the probabilities at a level; at level 0 those of the classes."""
        return probabilities if level == 0 else self.levels[level - 1].add_up(probabilities)

    def find_group(self, labels: NDArray[Any], level: int) -> NDArray[Any]:
        """Return the groups of classes at a level; -1 where the class is -1."""
        if level == 0:
            return labels
        return np.where(labels < 0, -1, self.levels[level - 1].members[labels])

    def name(self, level: int, group: int, class_names: Sequence[str]) -> tuple[str, str]:
        """Return the names of a level and of one of its groups."""
        if level == 0:
            return "label", class_names[group]
        return self.levels[level - 1].name, self.levels[level - 1].groups[group]


def check_nested(fine: Level, coarse: Level) -> None:
    """Raise `InputError` if a group is in two groups of the next level."""
    parents: dict[int, int] = {}
    for group, parent in zip(fine.members.tolist(), coarse.members.tolist(), strict=True):
        if parents.setdefault(group, parent) != parent:
            raise InputError(
                f"The hierarchy puts the {fine.name} {fine.groups[group]!r} into two groups of "
                f"the level {coarse.name}: {coarse.groups[parents[group]]!r} and "
                f"{coarse.groups[parent]!r}."
            )
