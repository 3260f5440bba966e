"""The options of decisions, as users state them, read into a `Decider`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from myriad.errors import InputError
from myriad.files import open_csv, reading_text
from myriad.options import check_options, option

if TYPE_CHECKING:
    from myriad.models import Decider, Hierarchy, ModelFolder

SET_METHODS = ("raps", "lac")


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """Decisions for a row beyond ranked labels; see the `option` of each field."""

    coverage: float | None = option(
        None,
        above=0,
        below=1,
        help="Return a set of labels that contains the correct one with this probability, such as "
        "0.95.",
    )
    sets: str = option(
        "raps",
        choices=SET_METHODS,
        help="Method of these prediction sets: raps (adaptive) or lac (smallest on average).",
    )
    class_coverage: bool = option(
        False, help="Guarantee the coverage for each class, not only on average."
    )
    reject: str | None = option(
        None,
        help="When to answer unknown: precision=0.99 (this fraction of answers is correct), "
        "rate=0.05 (for this fraction of rows) or novelty=0.05 (rows unlike all classes, with this "
        "fraction of false alarms).",
    )
    only: str | None = option(
        None, help="Labels to choose from: names separated by commas, or a file with one per line."
    )
    prior: str | None = option(
        None,
        help="CSV file with the columns label and weight, by which probabilities are multiplied.",
    )
    hierarchy: str | None = option(
        None,
        help="CSV file with the column label and one column per higher level, from fine to coarse "
        "(label, genus, family); the answer is at the finest level with enough confidence.",
    )
    confidence: float = option(
        0.8, above=0, below=1, help="Minimum probability of an answer in the hierarchy."
    )
    assign: str | None = option(
        None,
        default_text="f1",
        help="Thresholds of multi-label models: f1 (best F1 score per label) or precision=0.9 "
        "(this fraction of assigned labels is correct).",
    )

    def __post_init__(self) -> None:
        check_options(self)
        for name, needed in (
            ("sets", "coverage"),
            ("class_coverage", "coverage"),
            ("confidence", "hierarchy"),
        ):
            default = type(self).__dataclass_fields__[name].default
            if getattr(self, name) != default and getattr(self, needed) is None:
                raise InputError(f"--{name.replace('_', '-')} needs --{needed}.")

    def make_decider(self, folder: ModelFolder) -> Decider:
        """Return the decider for a model; `InputError` where the options do not fit it."""
        from myriad.models import Assignment, Decider, Rejection, weigh_classes

        names = folder.class_names
        weights = weigh_classes(
            names,
            None if self.only is None else read_only(self.only, names),
            None if self.prior is None else read_prior(Path(self.prior)),
            names=("--only", f"--prior {self.prior}"),
        )
        tree = None if self.hierarchy is None else read_hierarchy(Path(self.hierarchy), names)
        return Decider(
            folder,
            weights=weights,
            coverage=self.coverage,
            set_method=self.sets,
            by_class=self.class_coverage,
            reject=None if self.reject is None else Rejection.parse(self.reject),
            hierarchy=tree,
            confidence=self.confidence,
            assign=None if self.assign is None else Assignment.parse(self.assign),
        )


def read_only(text: str, class_names: Sequence[str]) -> list[str]:
    """Return the labels that ``--only`` states: a file with one per line, or names with commas.

    A text that is the name of a class is that class, even if it has a comma.
    """
    from myriad.models import split_labels

    path = Path(text)
    if text not in class_names and "\n" not in text and path.is_file():
        with reading_text(f"--only {path}"):
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        return [line.strip() for line in lines if line.strip()]
    labels = split_labels(text, class_names)
    if len(labels) == 1 and labels[0] not in class_names and path.suffix in (".txt", ".csv"):
        raise InputError(f"--only {path} cannot be read: No such file or directory.")
    return labels


def read_prior(path: Path) -> dict[str, float]:
    """Return the weights of labels in a CSV file."""
    header, lines = read_table(path, "prior")
    if "label" not in header or "weight" not in header:
        raise InputError(f"--prior {path} needs the columns label and weight in its first line.")
    weights: dict[str, float] = {}
    for line in lines:
        row = dict(zip(header, line, strict=True))
        if row["label"] in weights:
            raise InputError(f"--prior {path} has two weights for {row['label']!r}.")
        try:
            weights[row["label"]] = float(row["weight"])
        except ValueError:
            raise InputError(
                f"--prior {path}: the weight of {row['label']!r} must be a number, not "
                f"{row['weight']!r}."
            ) from None
    return weights


def read_hierarchy(path: Path, class_names: Sequence[str]) -> Hierarchy:
    """Return the hierarchy that a CSV file states.

    Its columns are ``label`` and one for each level above it, from the finest to the coarsest; or
    ``class`` and ``parent``, where a class that has no row is a group of its own.
    """
    from myriad.models import Hierarchy

    header, lines = read_table(path, "hierarchy")
    tree = {"class", "parent"} <= set(header)
    key = "class" if tree else "label"
    levels = ["parent"] if tree else [name for name in header if name != "label"]
    if key not in header or not levels:
        raise InputError(
            f"--hierarchy {path} needs the column label and a column for each level, or the "
            "columns class and parent, in its first line."
        )
    table: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, start=2):
        row = dict(zip(header, line, strict=True))
        groups = tuple(row[level] for level in levels)
        if not row[key] or not all(groups):
            raise InputError(f"{path}, line {number}: a {key} and its {levels[0]} are needed.")
        before = table.setdefault(row[key], groups)
        if before != groups and tree:
            raise InputError(
                f"{path}, line {number}: {row[key]} has two parents, {before[0]} and {groups[0]}."
            )
        if len(table) < number - 1 and not tree:
            raise InputError(f"{path}, line {number}: the label {row[key]!r} has two rows.")
    if not set(class_names) & table.keys():
        raise InputError(f"--hierarchy {path} names none of the classes of the model.")
    if tree:
        table |= {name: (f"{name} alone",) for name in class_names if name not in table}
    return Hierarchy.of(class_names, table, levels)


def read_table(path: Path, what: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the lines of a CSV file, each as long as the header."""
    with open_csv(path, option=f"--{what}") as reader:
        lines = list(filter(None, reader))
    if not lines:
        raise InputError(f"The {what} {path} is empty.")
    header = [name.strip() for name in lines[0]]
    if len(set(header)) < len(header):
        raise InputError(f"The {what} {path} has two columns of the same name.")
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(header):
            raise InputError(f"{path}, line {number}: {len(header)} columns are needed.")
    return header, [[cell.strip() for cell in line] for line in lines[1:]]
