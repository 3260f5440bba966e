"""Cases of ``compare`` and ``tune``: what they are given, and where they write."""

from __future__ import annotations

from pathlib import Path

from tests.robustness.cases import Case
from tests.robustness.inputs import copy, write_images

COMPARE = "compare model.store --out c --objectives ovr,means --epochs 1"
TUNE = "tune model.store --out t --betas 1 --etas 0.1 --lams 0.001 --epochs 1"


def rows(here: Path, ready: Path) -> None:
    copy(ready / "model.store", here / "model.store")


def rows_and(folder: str, file: str, content: str = "years of work"):
    def make(here: Path, ready: Path) -> None:
        rows(here, ready)
        (here / folder).mkdir()
        (here / folder / file).write_text(content)

    return make


def one_class(here: Path, ready: Path) -> None:
    write_images(here / "images", ("ant",))


STUDY_CASES = [
    *(
        Case(
            f"{command.split()[0]} {how} after a run that was killed at its first file",
            f"{command} {how}",
            0,
            "",
            rows_and(command.split()[3], f".{log}.part", "{"),
            replaces=(command.split()[3],),
        )
        for command, log in ((TUNE, "tuning.json"), (COMPARE, "comparison.json"))
        for how in ("--resume", "--overwrite")
    ),
    Case("compare: rows", COMPARE, 0, "Top-1 by class", rows),
    Case("tune: rows", TUNE, 0, "Top-1", rows),
    *(
        Case(f"{words}: {name}", f"{words} {data}", 2, says, make)
        for words in ("compare --out o", "tune --out o")
        for name, data, says, make in (
            ("no data", "nowhere", "nowhere does not exist", rows),
            ("one class", "images", "two classes", one_class),
            ("a model", "model", "model", lambda h, r: copy(r / "model", h / "model")),
        )
    ),
    Case("compare: no such objective", "compare model.store --objectives best", 2, "best", rows),
    Case("compare: k of ovr", "compare model.store --objectives ovr:5", 2, "ovr has no k", rows),
    Case("compare: k of 0", "compare model.store --objectives topk:0", 2, "at least 1", rows),
    Case("compare: empty list", "compare model.store --objectives ,", 2, "--objectives", rows),
    Case("compare: no epochs", f"{COMPARE} --epochs 0", 2, "--epochs", rows),
    Case("compare: out is a file", COMPARE, 2, "c is a file", lambda h, r: (h / "c").touch()),
    Case("compare: user's files", COMPARE, 2, "c holds files but no", rows_and("c", "thesis.tex")),
    Case(
        "compare: user's files, overwriting",
        f"{COMPARE} --overwrite",
        2,
        "c holds files but no",
        rows_and("c", "thesis.tex"),
    ),
    Case("compare: there already", COMPARE, 2, "--resume", rows_and("c", "comparison.json", "{}")),
    Case(
        "compare: damaged table",
        f"{COMPARE} --resume",
        2,
        "comparison.json is damaged",
        rows_and("c", "comparison.json", "{"),
    ),
    Case(
        "compare: table of other rows",
        f"{COMPARE} --resume",
        2,
        "other rows",
        rows_and("c", "comparison.json", '{"format": 1, "key": {}, "finished": {}}'),
    ),
    *(
        Case(f"tune: {option}", f"tune model.store {option}", 2, says, rows)
        for option, says in (
            ("--objective best", "--objective"),
            ("--objective means", "no settings to tune"),
            ("--objective warp --betas 1", "--betas does not belong"),
            ("--betas -1", "--betas must be a number above 0"),
            ("--betas some", "--betas"),
            ("--etas nan", "--etas must be a number above 0"),
            ("--lams inf", "--lams must be a number of at least 0"),
            ("--lams ,", "--lams has no value"),
            ("--epochs 0", "--epochs"),
        )
    ),
    Case("tune: user's files", TUNE, 2, "t holds files but no", rows_and("t", "thesis.tex")),
    Case("tune: there already", TUNE, 2, "--resume", rows_and("t", "tuning.json", "{}")),
    Case(
        "tune: damaged table",
        f"{TUNE} --resume",
        2,
        "tuning.json is damaged",
        rows_and("t", "tuning.json", '{"format": 1}'),
    ),
]
