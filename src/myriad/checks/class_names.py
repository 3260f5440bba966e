"""Class names that differ only in case, spacing or Unicode form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from myriad.checks.components import join_equal

_SPACING = re.compile(r"[\s_\-]+")
_BETWEEN_DIGITS = re.compile(r"(?<=\d) (?=\d)")


def find_alike_names(names: Sequence[str]) -> list[list[str]]:
    """Return groups of names that differ in case, spacing or Unicode form only.

    Underscores and hyphens count as spacing: ``Sea_Gull``, ``sea gull`` and ``seagull`` are alike.
    Between digits spacing counts: ``1 2`` is not ``12``.
    """
    groups = join_equal(map(simplify_name, names), len(names)).groups()
    return [[names[i] for i in group] for group in groups]


def simplify_name(name: str) -> str:
    """Return a name without case, spacing and differences of Unicode form."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    plain = unicodedata.normalize("NFKC", plain)  # folding the case may undo the composition
    words = _SPACING.sub(" ", plain).strip()
    kept = _BETWEEN_DIGITS.sub("\n", words)
    return kept.replace(" ", "") or name
