"""The signature of ``--signature auto``: candidates compared on some of the training images.

The candidates are a network, Fisher vectors, and both; or several signatures side by side with the
weights that are tried where one is left open. A bounded sample of the training images is described
by all of them, the automatic method finds the cross-validated accuracy of each, and the best one
describes the whole job. A cheaper one is preferred if it is not worse by more than the standard
error of the difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from myriad.arrays import Float
from myriad.images import ImageList
from myriad.parallel import Executor, LearningContext
from myriad.pipelines.compiling import wait_for_kernels
from myriad.pipelines.describing.image_rows import SampledImages, describe_sample
from myriad.pipelines.describing.options import ExtractOptions
from myriad.pipelines.describing.row_cache import RowCache
from myriad.progress import SILENT
from myriad.randomness import generator
from myriad.signatures import CombinedSignature
from myriad.signatures.learning import TooFewDescriptors
from myriad.signatures.registry import FISHER, NETWORK, is_network, split_word
from myriad.store import ArrayRows
from myriad.training import Automatic, Context

SHARE, FEWEST, MOST = 8, 256, 512
"""One training image in `SHARE` is described by all candidates, within these bounds."""
CLASS_IMAGES = 8
"""Minimum number of images per class, if available; of many classes only some are sampled."""
TOO_FEW = 60
"""Fewer images than this decide nothing: the network is used."""
COMPONENTS, VOCABULARY_IMAGES = 64, 128
"""Gaussians of the Fisher vectors that are tried, and the images that they are learned from."""
TITLES = {NETWORK: "network", FISHER: "Fisher vectors", f"{NETWORK}+{FISHER}": "both"}


@dataclass(frozen=True)
class SignatureChoice:
    """The signature that ``auto`` chooses in a job.

    Attributes
    ----------
    options : those of the job, with the chosen signature.
    facts : why it was chosen, plain JSON: ``sentence``, and unless there was nothing to compare
        ``images``, ``classes``, ``measure`` and ``candidates``. Empty if the user stated it.
    """

    options: ExtractOptions
    facts: dict[str, Any]

    def to_plan(self) -> dict[str, Any]:
        """Return the record of the choice in the plan of a store."""
        return {"choice": self.facts} if self.facts else {}


def choose_signature(
    images: ImageList,
    options: ExtractOptions,
    executor: Executor,
    context: LearningContext,
    *,
    before: Mapping[str, Any] | None = None,
    cache: RowCache | None = None,
) -> SignatureChoice:
    """Return the options with a stated signature.

    Parameters
    ----------
    before : the plan of the store that is resumed, whose choice stays.
    cache : rows of earlier runs.
    """
    if not options.is_open:
        return SignatureChoice(options, {})
    if before and isinstance(before.get("choice"), dict):
        return SignatureChoice(options.choose(str(before.get("signature"))), before["choice"])
    candidates = options.candidates
    title = _title(candidates[0])
    if len(candidates) == 1:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in options.stated)
        return _report_choice(options, candidates[0], f"{title}, because of {named}", context)
    sample = draw_sample(images, seed=context.seed)
    if len(sample) < TOO_FEW:
        why = f"{title}, as there are too few images per class to compare"
        return _report_choice(options, candidates[0], why, context)
    try:
        signature, rows = describe_candidates(images, sample, options, executor, context, cache)
    except TooFewDescriptors:
        if not is_network(candidates[0]):
            raise
        why = f"{title}, as patches of the images have too little contrast for the others"
        return _report_choice(options, candidates[0], why, context)
    if rows.n_rows < TOO_FEW:
        why = f"{title}, as too few images can be read to compare"
        return _report_choice(options, candidates[0], why, context)
    compared = compare_signatures(signature, rows, candidates, context)
    if not compared:
        why = f"{title}, as no class has images of two groups to compare by"
        return _report_choice(options, candidates[0], why, context)
    word = choose_best(compared)
    listed = [f"{_title(c.word)} {c.accuracy:.1f} ± {c.error:.1f}" for c in compared]
    facts = {
        "images": rows.n_rows,
        "classes": len(np.unique(rows.labels)),
        "measure": compared[0].measure,
        "candidates": [c.to_json() for c in compared],
    }
    return _report_choice(options, word, f"{', '.join(listed)}: {_title(word)}", context, facts)


def _title(word: str) -> str:
    return TITLES.get(word, word)


def _report_choice(
    options: ExtractOptions,
    word: str,
    sentence: str,
    context: LearningContext,
    facts: dict[str, Any] | None = None,
) -> SignatureChoice:
    on = f" ({facts['measure']} in % on {facts['images']} images)" if facts else ""
    context.progress.note(f"Signature: {sentence}{on}.")
    return SignatureChoice(options.choose(word), {"sentence": sentence} | (facts or {}))


def count_compared(n_images: int) -> int:
    """Return the number of training images on which candidates are compared."""
    return min(n_images, max(FEWEST, min(n_images // SHARE, MOST)))


def draw_sample(images: ImageList, *, seed: int) -> NDArray[np.int64]:
    """Return the training images that candidates are compared on, as numbers in the list.

    All classes have about the same number of them; classes of a single image have none.
    """
    known = np.flatnonzero((images.splits == "train") & (images.labels >= 0))
    size = count_compared(len(known))
    draws = generator(seed, "images to choose a signature by")
    known = known[draws.permutation(len(known))]
    labels = images.labels[known]
    counts = np.bincount(labels, minlength=1)
    classes = np.flatnonzero(counts > 1)
    classes = draws.permutation(classes)[: max(2, size // CLASS_IMAGES)]
    # The number of each image within its class, so that classes give their images in turn.
    order = np.argsort(labels, kind="stable")
    turn = np.empty(len(known), np.int64)
    turn[order] = np.arange(len(known)) - np.repeat(np.cumsum(counts) - counts, counts)
    usable = np.flatnonzero(np.isin(labels, classes))
    first = usable[np.argsort(turn[usable], kind="stable")][:size]
    return known[np.sort(first)]


def describe_candidates(
    images: ImageList,
    sample: NDArray[np.int64],
    options: ExtractOptions,
    executor: Executor,
    context: LearningContext,
    cache: RowCache | None = None,
) -> tuple[CombinedSignature, ArrayRows]:
    """Return all candidates side by side as one signature, and the rows of the sample."""
    word = options.candidates[-1]
    both = options.choose(word)
    if both.spec.components is not None:
        both = replace(both, components=min(COMPONENTS, both.components or COMPONENTS))
    learned_from = SampledImages(images, sample[:VOCABULARY_IMAGES], options.max_bad, executor)
    signature = both.spec.learn(learned_from, both, context)
    assert isinstance(signature, CombinedSignature)
    X, kept = describe_sample(
        "Comparing signatures",
        images,
        sample,
        signature,
        executor,
        context,
        max_bad=options.max_bad,
        cache=cache,
    )
    _, labels = np.unique(images.labels[kept], return_inverse=True)
    groups = None if images.groups is None else images.groups[kept]
    return signature, ArrayRows(X, labels, groups=groups)


@dataclass(frozen=True)
class Candidate:
    """A signature with its cross-validated accuracy in percent, and its standard error.

    Attributes
    ----------
    word : the value of ``--signature``.
    correct : bool array of shape (n_rows,), which held-out rows were classified correctly; the rows
        are the same for all candidates, since folds depend on labels and the seed alone.
    """

    word: str
    measure: str
    accuracy: float
    error: float
    correct: NDArray[np.bool_]

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the candidate in the plan of a store."""
        return {"signature": self.word, "accuracy": self.accuracy, "error": self.error}


def compare_signatures(
    signature: CombinedSignature,
    rows: ArrayRows,
    candidates: tuple[str, ...],
    context: LearningContext,
) -> list[Candidate]:
    """Return the accuracy of each candidate, whose rows are some of the columns of `rows`.

    Returns none where nothing can be held out, since no class has images of two groups.
    """
    wait_for_kernels()
    n_classes = int(rows.labels.max()) + 1
    columns = dict(zip(signature.names, signature.blocks, strict=True))
    found = []
    for word in candidates:
        X = combine_columns(
            rows.X, [(columns[name], weight or 1.0) for name, weight in split_word(word)]
        )
        some = ArrayRows(X, rows.labels, groups=rows.groups)
        method = Automatic(seed=context.seed)
        quiet = Context(threads=context.threads, progress=SILENT)
        fitted = method.fit(some, None, n_classes=n_classes, context=quiet)
        facts, held = fitted.settings.get("cross_validation"), fitted.held_scores
        if facts is None or held is None:
            return []
        correct = held.classes[:, 0] == held.labels
        measured = facts["measure"], facts["accuracy"], facts["error"]
        found.append(Candidate(word, *measured, correct))
    return found


def combine_columns(X: Float, blocks: list[tuple[slice, float]]) -> Float:
    """Return the rows of a candidate: some blocks of columns, weighted and normalised."""
    chosen = np.hstack([weight * _scale_rows(X[:, block]) for block, weight in blocks])
    return np.ascontiguousarray(_scale_rows(chosen), np.float32)


def _scale_rows(X: Float) -> Float:
    """Return rows with norm 1; rows of zeros stay."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.asarray(X / np.maximum(norms, np.float32(1e-12)))


def choose_best(found: list[Candidate]) -> str:
    """Return the first, and so cheapest, candidate that is not clearly worse than the best."""
    best = max(found, key=lambda candidate: candidate.accuracy)
    for candidate in found:
        behind = best.correct.astype(float) - candidate.correct
        error = behind.std() / np.sqrt(max(len(behind), 1))
        if candidate is best or behind.mean() <= error:
            return candidate.word
    return best.word
