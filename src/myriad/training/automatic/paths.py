"""Paths over the strength of regularisation, in half decades from strong to weak."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from myriad.training.automatic.trials import Problem, Trial, smooth_trials
from myriad.training.search import smooth

MAX_EXTENSIONS = 3
"""How often a path is extended where its best value is the first or the last."""

Attempt = Callable[[int, Problem, bool], Trial]
"""Trains the value ``10 ** (-half / 2)`` on the folds of a problem; the last argument is whether
the path is only explored, so that a rough model will do."""


def follow_path(
    attempt: Attempt,
    problem: Problem,
    first: int,
    last: int,
    is_far_behind: Callable[[Sequence[Trial]], bool],
) -> list[Trial]:
    """Return the trials of a path, smoothed.

    Decades are explored on the first folds from strong to weak regularisation, until accuracy
    falls. Then the best one and the half decades beside it are compared on all folds, and further
    half decades as long as the first or the last is the best.

    Parameters
    ----------
    attempt : trains one value.
    first, last : numbers of half decades: the first value, and the weakest. Stronger ones than the
        first are tried as well, down to ``first - 4``.
    is_far_behind : whether the path ends with the trials on the first folds, given these.
    """
    explored, strongest = problem.explored(), first - 4
    coarse: dict[int, Trial] = {}
    for half in range(first, last + 1, 2):
        coarse[half] = attempt(half, explored, True)
        if find_best_half(coarse) < half:
            break
    while min(coarse) > strongest and rises_to(coarse, min(coarse), min(coarse) + 2):
        half = min(coarse) - 2
        coarse[half] = attempt(half, explored, True)
    path = [coarse[half] for half in sorted(coarse)]
    smooth_trials(path)
    if len(explored.folds) < len(problem.folds) and is_far_behind(path):
        return path
    centre = find_best_half(coarse)
    fine = {half: attempt(half, problem, False) for half in (centre - 1, centre, centre + 1)}
    for _ in range(MAX_EXTENSIONS):
        best = find_best_half(fine)
        if best == max(fine) <= last:
            half = best + 1
        elif best >= strongest and rises_to(fine, min(fine), min(fine) + 1):
            half = min(fine) - 1
        else:
            break
        fine[half] = attempt(half, problem, False)
    path = [fine[half] for half in sorted(fine)]
    smooth_trials(path)
    return path


def climb(
    attempt: Callable[[int], Trial], first: int, strongest: int, weakest: int
) -> dict[int, Trial]:
    """Return trials by half decades: from the first on, until those beside the best are no better.

    Parameters
    ----------
    attempt : trains a value.
    strongest, weakest : the smallest and the largest half decade.
    """
    trials = {first: attempt(first)}
    while True:
        best = find_best_half(trials)
        beside = (half for half in (best - 1, best + 1) if strongest <= half <= weakest)
        new = next((half for half in beside if half not in trials), None)
        if new is None:
            return trials
        trials[new] = attempt(new)


def find_smoothed_half(trials: Mapping[int, Trial]) -> int:
    """Return the half decade with the best smoothed score; of equals the strongest."""
    halves = sorted(trials)
    scores = smooth([trials[half].score for half in halves])
    return halves[scores.index(max(scores))]


def rises_to(trials: Mapping[int, Trial], half: int, inner: int) -> bool:
    """Return whether the best value of lam is `half`, and it is better than the one beside it.

    Where classes are easily told apart, scores do not change, and the strongest regularisation that
    could be tried would give poor probabilities.
    """
    return find_best_half(trials) == half and trials[half].score > trials[inner].score


def find_best_half(trials: Mapping[int, Trial]) -> int:
    """Return the value of lam with the best score; of equals the strongest."""
    return max(sorted(trials), key=lambda half: trials[half].score)
