"""The demo: train and evaluate a model on drawn characters."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from myriad.errors import InputError
from myriad.files import partial_of, write_json
from myriad.images import choose_glyphs, write_glyphs
from myriad.measures import Measures
from myriad.pipelines.compiling import compiling_ahead
from myriad.pipelines.describing.options import ExtractOptions
from myriad.pipelines.evidence.documentation import gather_evidence
from myriad.pipelines.outputs import list_entries, locks_output, training_beside
from myriad.pipelines.predicting.evaluate import evaluate
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.training.train import EVIDENCE, Trained, sample_paths, train
from myriad.training import METHODS, make_method

IMAGES, MODEL, STORE, REPORT = "images", "model", "store", "report.html"
MARK = "demo.json"
"""The file that marks a folder as written by a demo, so that a later demo may replace it."""


@dataclass(frozen=True)
class Demonstrated:
    """A model of characters and its accuracy on test images."""

    trained: Trained
    test: Measures
    evidence: dict[str, Any]
    ceiling: float
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that ``demo`` prints, without the path of the report."""
        return {
            "model": str(self.trained.model),
            "seconds": round(self.seconds, 3),
            "seconds_training": round(self.trained.seconds_training, 3),
            "ceiling": self.ceiling,
            "settings": self.trained.settings,
            "test": self.test.to_json(),
        }


@locks_output()
def demonstrate(
    out: Path,
    *,
    classes: int = 50,
    images: int = 20,
    confusables: bool = False,
    objective: str = "auto",
    run: Run = DEFAULT_RUN,
) -> Demonstrated:
    """Draw `classes` x `images` characters, train on them and test; all in the folder `out`.

    What an earlier demo wrote there is replaced; anything else in the folder is refused.
    """
    began = time.perf_counter()
    if images < 5:
        raise InputError(
            f"--images must be at least 5, not {images}: they are divided into three splits."
        )
    method = make_method(METHODS, objective, seed=run.seed)
    glyphs = choose_glyphs(classes, seed=run.seed, confusables=confusables)
    _clear(out)
    write_json(out / MARK, {"classes": classes, "images": images, "seed": run.seed})
    with compiling_ahead(run.threads):
        write_glyphs(
            out / IMAGES,
            glyphs,
            images=images,
            seed=run.seed,
            threads=run.threads,
            progress=run.progress,
        )
        trained = train(
            out / IMAGES,
            out / MODEL,
            store=out / STORE,
            extracting=ExtractOptions(cache=False),  # drawn images need not be cached
            method=method,
            run=run,
        )
    tested = evaluate(out / MODEL, out / IMAGES, split="test", run=run)
    labels, paths = trained.store.rows("train").labels, trained.store.rows("train").paths
    evidence = trained.evidence | gather_evidence(
        tested.scored,
        tested.measures,
        title=f"{classes} characters",
        split="test",
        noun=tested.noun,
        class_names=trained.store.class_names,
        train_counts=np.bincount(labels, minlength=classes),
        train_samples=sample_paths(labels, paths),
        bad=tested.bad,
        ceiling=glyphs.ceiling if glyphs.ceiling < 100 else None,
        **{key: trained.evidence[key] for key in ("history", "search", "settings")},
    )
    write_json(out / MODEL / EVIDENCE, evidence)
    seconds = time.perf_counter() - began
    return Demonstrated(trained, tested.measures, evidence, glyphs.ceiling, seconds)


def _clear(out: Path) -> None:
    """Make the folder `out`, or remove what an earlier demo wrote in it, and nothing else."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; name a folder for the demo.")
    out.mkdir(parents=True, exist_ok=True)
    names = {path.name for path in list_entries(out)} - {training_beside(out / MODEL).name}
    partial = {name: partial_of(out / name).name for name in (MARK, REPORT)}  # of a killed demo
    known = {IMAGES, MODEL, STORE, REPORT, MARK, *partial.values()}
    others = names - known if names & {MARK, partial[MARK]} else names
    if others:
        raise InputError(
            f"{out} contains files that demo did not write, such as {min(others)!r}. "
            "Use another --out."
        )
    for name in (IMAGES, MODEL, STORE):
        if (out / name).exists():
            shutil.rmtree(out / name)
    (out / REPORT).unlink(missing_ok=True)
    for name in names & set(partial.values()):
        (out / name).unlink(missing_ok=True)
