"""The table at the top of docs/evidence.md: the main claims, and how many verdicts there are."""

from __future__ import annotations

from collections.abc import Mapping

from evidence_claims import (
    FAILS,
    HOLDS,
    MOSTLY,
    NOT_RUN,
    UNDECIDED,
    count_verdict,
    format_table,
    list_claims,
)

FEW = "few images per class: all lengths separate them"
EMPTY = "signs of empty cells are noise"
CLEAN = "few rows per class, clean labels"
MAIN: dict[str, tuple[tuple[str, str], ...]] = {
    "[TK]": (
        ("top-10 alpha gains over the multiclass SVM (top-5)", ""),
        ("top-20 alpha costs top-1", ""),
        ("top-10 beta may raise top-1 as well", ""),
        ("top-10 alpha is ahead of one-vs-all", ""),
        ("top-10 alpha is ahead of TopPush", ""),
        ("top-10 alpha is ahead of Recall@10", ""),
        ("two last violators cost more", ""),
        ("top-5 alpha gains at top-5 (tiny200)", ""),
        (
            "one-vs-all is behind the multiclass SVM at top-5 (tiny200)",
            "our loss is the squared hinge",
        ),
    ),
    "[GP]": (
        ("1. SGD is as good as a batch solver", ""),
        ("2. the imbalance must be tuned", "100 classes: all negatives are no burden"),
        ("Figure 1: beta = 1 is not enough (fv-256)", ""),
        ("3. early stopping replaces regularisation", "explicit regularisation is ahead"),
        ("4. a fixed step is enough", "a decreasing step is ahead"),
        ("5. one-vs-rest is as good as any", ""),
        ("6. large features make all objectives alike", FEW),
    ),
    "[CC]": (
        ("Figure 5: PQ has an edge over sign bits (ratio 32, 256", ""),
        ("Figure 5: sign bits win over PQ (ratio 64, 256", EMPTY),
        ("Figure 5: sign bits win over PQ (ratio 256, 256", EMPTY),
        ("sign bits against plain rows, ratio 32", EMPTY),
        ("half of the features can be dropped", ""),
        ("Figure 3: features with two modes, one on each side of 0, all values", "empty cells"),
        ("Figure 6: training is faster with bits than with pq", ""),
        ("Figure 7: testing is faster with bits than with pq", ""),
    ),
    "[HM]": (
        ("Wsabie++ is ahead of Wsabie (Omniglot)", ""),
        ("Wsabie++ is ahead of one-vs-all with adagrad (Omniglot)", ""),
        ("Wsabie++ is ahead of an ensemble of Wsabie (Omniglot)", "ensembles gain more here"),
        ("one negative per positive is too few for one-vs-all (Omniglot)", ""),
        ("10 last violators help (Omniglot)", CLEAN),
        ("last violators of order 8 help Wsabie++ (Omniglot)", CLEAN),
        ("Equation 7: the class-confusion loss", "a class always mistaken costs it nothing"),
        ("80 % of the validation accuracy", ""),
    ),
    "[LS]": (
        ("SGD one-vs-rest takes less time than LIBLINEAR dual", ""),
        ("SGD multiclass takes less time than LIBLINEAR crammer-singer", ""),
        ("training on product codes costs a point at most (10", ""),
        ("the trace norm is ahead of L2 softmax where classes share directions", ""),
        ("the trace norm is ahead of L2 softmax on photographs", "their classes share too little"),
    ),
}
"""Beginnings of the claims that each paper is known for, and why one does not hold here."""


def table_of_main_claims(texts: Mapping[str, str]) -> str:
    """Return the main claims with their verdicts.

    Parameters
    ----------
    texts : the text of each section by its title, which begins with the name of the paper.
    """
    rows = []
    for title, text in texts.items():
        paper, claims = title.split()[0], list_claims(text)
        for number, (start, reason) in enumerate(MAIN[paper]):
            claim = next(claim for claim in claims if claim[0].startswith(start))
            shown = f"{claim[3]}: {reason}" if reason and claim[3] == FAILS else claim[3]
            rows.append([paper if number == 0 else "", *claim[:3], shown])
    return format_table(["", "main claim", "paper", "here", "verdict"], rows)


def table_of_verdicts(texts: Mapping[str, str]) -> str:
    """Return how many claims of each paper have each verdict."""
    verdicts = (HOLDS, MOSTLY, FAILS, UNDECIDED, NOT_RUN)
    rows = [
        [title, *(str(count_verdict(text, verdict)) for verdict in verdicts)]
        for title, text in texts.items()
    ]
    return format_table(["all claims", *(verdict.strip("*") for verdict in verdicts)], rows)
