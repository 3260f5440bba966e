"""The section of a report about a code: its parameters, and the information of the features."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from myriad.codes import Code
from myriad.codes.registry import code_name
from myriad.report.plots import plot_information, plot_shares
from myriad.report.plots.codes import tell_shares
from myriad.report.wording import show_count, show_number, show_percent


@dataclass(frozen=True)
class CodeSection:
    """What a page shows of a code.

    Attributes
    ----------
    facts : names and values, in words.
    sentence : what the plots come to, or an empty text without plots.
    plots : the histogram of information, and the part of it that the best features carry.
    """

    facts: list[tuple[str, str]]
    sentence: str
    plots: list[Markup]


def make_code_section(code: Code) -> CodeSection:
    """Return the section of a code; there are plots where its features were chosen."""
    facts = [
        ("Code", code_name(code.kind)),
        ("Features of a plain row", show_count(code.dim)),
        ("Features of a decoded row", show_count(code.decoded_dim)),
        ("Bytes a row", show_count(code.bytes_per_row)),
        ("Times smaller than float32", show_number(round(code.ratio, 2))),
    ]
    selection = code.selection
    if selection is None or not selection.information.max() > 0:
        return CodeSection(facts, "", [])
    information = selection.information
    kept = information[selection.chosen].sum() / information.sum()
    (part, share), *_ = [pair for pair in tell_shares(information) if pair[0] == 25.0]
    sentence = (
        f"The {show_count(code.decoded_dim)} features that are kept carry "
        f"{show_percent(100 * float(kept))} of the mutual information of all features with the "
        f"class; the best {show_percent(part, 0)} carry {show_percent(share)}."
    )
    return CodeSection(
        facts, sentence, [plot_information(information, code.decoded_dim), plot_shares(information)]
    )
