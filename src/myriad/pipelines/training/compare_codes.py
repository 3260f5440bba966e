"""Compare codes on one store: accuracy against compression ratio [CC, section 4].

Results are saved as they are found, so that an interrupted comparison can be resumed.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from myriad.codes import CODES, CodeOptions, find_code
from myriad.errors import InputError
from myriad.files import read_json, write_json
from myriad.measures import Measures, measure
from myriad.models import ModelFolder, make_plain
from myriad.pipelines.outputs import locks_output
from myriad.pipelines.predicting.scoring import Evaluator
from myriad.pipelines.run import DEFAULT_RUN, Run
from myriad.pipelines.stores.compress import compress
from myriad.pipelines.training.compare import compile_kernels
from myriad.pipelines.training.fitting import fit_store
from myriad.pipelines.workers import connected, open_context
from myriad.store import Store
from myriad.training import SGD, Method

RATIOS = (32.0, 64.0, 128.0, 256.0)
RESULTS = "codes.json"
"""The file of the results so far, in the folder of the comparison."""


@dataclass(frozen=True)
class CodeRow:
    """One line of the comparison.

    Attributes
    ----------
    codes, asked : the code, and the requested ratio; ``"none"`` and 1 for plain rows.
    ratio, bytes_per_row, error : those of the code; the error as in `Compressed`.
    seconds_coding : time of learning the code and encoding all rows.
    seconds_training, seconds_predicting : time of training, and of ranking the rows of the split.
    split, n : the rows that accuracies, in percent, are measured on.
    """

    codes: str
    asked: float
    ratio: float
    bytes_per_row: int
    error: float | None
    seconds_coding: float
    seconds_training: float
    seconds_predicting: float
    split: str
    n: int
    top1: float | None
    top5: float | None
    class_top1: float | None


@dataclass(frozen=True)
class ComparedCodes:
    """The rows of the comparison, plain rows first."""

    store: Store
    rows: list[CodeRow]
    seconds: float

    def best(self) -> CodeRow:
        """Return the row of the highest accuracy over samples; of ties the smallest."""
        return max(self.rows, key=lambda row: (row.top1 or 0.0, row.ratio))

    def to_json(self) -> dict[str, Any]:
        """Return the table as plain JSON."""
        rows = [asdict(row) for row in self.rows]
        return {
            "store": str(self.store.path),
            "classes": len(self.store.class_names),
            "rows": rows,
            "best": asdict(self.best()),
            "seconds": round(self.seconds, 3),
        }


@locks_output("work")
def compare_codes(
    data: Path,
    work: Path,
    *,
    codes: Sequence[str] | None = None,
    ratios: Sequence[float] = RATIOS,
    method: Method | None = None,
    run: Run = DEFAULT_RUN,
) -> ComparedCodes:
    """Encode the store `data` with every code, train on each, and measure accuracy and time.

    Accuracy is that of the split ``test`` where the store has one, else of ``val``; settings are
    always searched on ``val``. A ratio that a code cannot meet is left out with a note.

    Parameters
    ----------
    work : a folder for coded rows, each removed once it is evaluated, and for the results so far.
    codes : names in `myriad.codes.CODES`; None for those that are compared by default.
    """
    began = time.perf_counter()
    method = method or SGD()
    source = Store.open(data)
    if source.code is not None:
        raise InputError(
            f"The rows of {data} are already encoded: codes are compared on plain rows."
        )
    split = _choose_split(source)
    words = parse_codes("all") if codes is None else [find_code(name).word for name in codes]
    done = _read_done(work, source, method, resume=run.resume)
    compile_kernels(method)
    rows = []
    asked = [("none", 1.0), *((name, ratio) for name in words for ratio in ratios)]
    with connected(run) as run:
        for name, ratio in asked:
            key = f"{name} {ratio:g}"
            if key not in done:
                row = _measure_one(source, work, name, ratio, method, split, run)
                if row is None:
                    continue
                done[key] = asdict(row)
                _write_done(work, source, method, done)
            rows.append(CodeRow(**done[key]))
    return ComparedCodes(source, rows, time.perf_counter() - began)


def parse_codes(text: str) -> tuple[str, ...]:
    """Return the names of codes in a comma-separated list; ``all`` for those of the registry."""
    if text == "all":
        return tuple(spec.word for spec in CODES.values() if spec.compared)
    known = {word: spec.word for spec in CODES.values() for word in (spec.name, *spec.aliases)}
    del known["none"]
    words = text.split(",")
    for word in words:
        if word not in known:
            names = ", ".join(name for name in CODES if name != "none")
            raise InputError(f"--codes must be all or some of {names}, not {word!r}.")
    return tuple(known[word] for word in words)


def parse_ratios(text: str) -> tuple[float, ...]:
    """Return the ratios in a comma-separated list."""
    try:
        ratios = tuple(float(word) for word in text.split(","))
    except ValueError:
        raise InputError(f"--ratios must be numbers separated by commas, not {text!r}.") from None
    if not all(1 <= ratio < 1e9 for ratio in ratios):
        raise InputError(f"--ratios must be numbers from 1 on, not {text!r}.")
    return ratios


def _choose_split(store: Store) -> str:
    for name in ("test", "val"):
        if name in store.split_names:
            return name
    raise InputError(f"{store.path} has neither test nor val rows to compare on.")


def _key(store: Store, method: Method) -> dict[str, str]:
    return {"store": store.fingerprint, "method": repr(method)}


def _read_done(work: Path, store: Store, method: Method, *, resume: bool) -> dict[str, Any]:
    """Return the results of an earlier run on the same store with the same method."""
    path = work / RESULTS
    if not resume or not path.exists():
        return {}
    content = read_json(path)
    if content.get("key") != _key(store, method):
        raise InputError(
            f"{path} belongs to another store or method: use the same ones, or another folder."
        )
    done = content.get("rows")
    names = set(CodeRow.__dataclass_fields__)
    if not isinstance(done, dict) or any(
        not isinstance(row, dict) or set(row) != names for row in done.values()
    ):
        raise InputError(f"{path} is damaged: it does not hold rows of a comparison.")
    return done


def _write_done(work: Path, store: Store, method: Method, done: dict[str, Any]) -> None:
    work.mkdir(parents=True, exist_ok=True)
    write_json(work / RESULTS, {"key": _key(store, method), "rows": done})


def _measure_one(
    source: Store,
    work: Path,
    name: str,
    ratio: float,
    method: Method,
    split: str,
    run: Run,
) -> CodeRow | None:
    """Return the line of one code; None where it cannot reach the ratio."""
    store, error, seconds_coding = source, None, 0.0
    folder = work / f"{name}-{ratio:g}.store"
    if name != "none" or ratio > 1:
        try:
            options = CodeOptions(name, ratio)
            coding = replace(run, seed=method.seed, overwrite=True, resume=False)
            made = compress(source.path, folder, options=options, run=coding)
        except InputError as refusal:
            run.progress.note(f"{name} at ratio {ratio:g} is left out: {refusal}")
            return None
        store, error, seconds_coding = made.store, made.error, made.seconds
    began = time.perf_counter()
    with open_context(run, work / "pieces") as context:
        fitted, _, validation = fit_store(store, method, context)
    seconds_training = time.perf_counter() - began
    measures = validation
    if split != "val":
        model = ModelFolder(make_plain(fitted.model, store.code), store.class_names, None, {})
        measures = _measure_split(model, store, split, run)
    if store is not source:
        shutil.rmtree(folder)
    return CodeRow(
        name,
        ratio,
        round(4 * source.dim / store.bytes_per_row, 3),
        store.bytes_per_row,
        error,
        round(seconds_coding, 3),
        round(seconds_training, 3),
        round(measures.seconds, 3),
        split,
        measures.n,
        measures.at(1),
        measures.at(5),
        measures.to_json()["class_top1"],
    )


def _measure_split(folder: ModelFolder, store: Store, split: str, run: Run) -> Measures:
    began = time.perf_counter()
    evaluator = Evaluator(folder, run=run)
    scored, truths = evaluator.score_store(store, split)
    return measure(
        scored.ranks,
        truths,
        n_classes=len(folder.class_names),
        seconds=time.perf_counter() - began,
    )
