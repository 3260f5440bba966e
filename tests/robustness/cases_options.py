"""Cases of options, and of ``demo``, which has nothing else."""

from __future__ import annotations

from tests.robustness.calling import QUICK
from tests.robustness.cases import Case
from tests.robustness.scenes import copy, write_images

TRAIN = f"train images --out m {QUICK}"

OPTION_CASES = [
    Case(
        "demo: user's folder of images",
        "demo --out mine --classes 10 --images 5",
        2,
        "mine holds what no demo wrote there, such as 'images'",
        lambda h, r: copy(r / "images", h / "mine" / "images"),
    ),
    Case(
        "demo: user's file beside",
        "demo --out mine --classes 10 --images 5",
        2,
        "such as 'thesis.tex'",
        lambda h, r: [
            (h / "mine").mkdir(),
            (h / "mine/demo.json").touch(),
            (h / "mine/thesis.tex").touch(),
        ],
    ),
    Case(
        "demo: out is a file",
        "demo --out mine",
        2,
        "mine is a file",
        lambda h, r: (h / "mine").touch(),
    ),
    Case(
        "demo: wrong objective keeps the old one",
        "demo --out mine --objective best",
        2,
        "--objective",
        lambda h, r: [copy(r / "images", h / "mine" / "images"), (h / "mine/demo.json").touch()],
    ),
    Case("demo: too many classes", "demo --classes 100000", 2, "classes"),
    Case("demo: too few classes", "demo --classes 3", 2, "--classes"),
    Case("demo: too few images", "demo --images 1", 2, "--images"),
    *(
        Case(
            f"option {option}",
            f"{TRAIN} {option}",
            2,
            option.split()[0],
            lambda h, r: write_images(h / "images"),
        )
        for option in (
            "--threads 0",
            "--threads many",
            "--seed -1",
            "--seed 9223372036854775808",
            "--max-bad 2",
            "--max-bad nan",
            "--components 0",
            "--components 5000",
            "--step 0",
            "--step 5000",
            "--epochs 0",
            "--lam -1",
            "--lam inf",
            "--eta fast",
            "--signature best",
            "--codes zip",
            "--objective best",
            "--k 5",
            "--tol 0.1",
            "--colour red",
        )
    ),
    *(
        Case(
            f"option {option}",
            f"{TRAIN} {option}",
            2,
            says,
            lambda h, r: write_images(h / "images"),
        )
        for option, says in (
            ("--regions 3", "1, 4 or 8 regions"),
            ("--objective topk --k 0", "k must be at least 1"),
            ("--objective topk --k 500", "it must be at most"),
            ("--objective topk --lam 0", "lam must be a number above 0"),
            ("--objective topk --variant gamma", "alpha, beta"),
            ("--objective topk --tol 2", "tol must lie between"),
            ("--objective dual --loss logistic", "hinge, squared_hinge"),
            ("--eta nan", "eta must be positive"),
            ("--beta 0", "beta must be positive"),
            ("--eta inf", "eta must be"),
        )
    ),
    Case("no such verb", "trian images", 2, "trian"),
    Case("no data named", "train --out m", 2, "DATA"),
    Case("no --out", "train images", 2, "--out"),
]
