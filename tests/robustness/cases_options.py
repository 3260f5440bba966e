"""Cases of options, and of ``demo``, which has nothing else."""

from __future__ import annotations

from pathlib import Path

from tests.robustness.calling import QUICK
from tests.robustness.cases import Case
from tests.robustness.inputs import copy, write_images


def trained(here: Path, ready: Path) -> None:
    for name in ("model", "model.store"):
        copy(ready / name, here / name)


TRAIN = f"train images --out m {QUICK}"
BARE = "train images --out m --components 2 --regions 1 --step 12"
"""Without the numbers of one-vs-rest, which other objectives refuse."""

OPTION_CASES = [
    *(
        Case(f"huge number: {command.split()[0]}", command, 2, f"{option} must be below", trained)
        for option, command in (
            ("--classes", f"plan --classes {10**400} --images 5"),
            ("-k", f"predict model images -k {2**63}"),
            ("--seed", f"train images --out m --seed {2**63}"),
        )
    ),
    Case("memory of a byte", "train model.store --out m --memory 1B", 2, "at least 256MB", trained),
    *(
        Case(f"{what}: predict --csv", f"predict model images --csv {name}", 2, says, trained)
        for what, name, says in (
            ("no name", "''", "--csv . is not a regular file"),
            ("a name too long for a journal", "x" * 245, "more than 240 bytes"),
            ("a folder with too long a name", "x" * 300 + "/a.csv", "the name is too long"),
        )
    ),
    Case(
        "demo: user's folder of images",
        "demo --out mine --classes 10 --images 5",
        2,
        "mine contains files that demo did not write, such as 'images'",
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
    Case(
        "extract: no such cluster",
        "extract images --out s --cluster local:none",
        2,
        "local:N needs a number of workers",
        lambda h, r: write_images(h / "images"),
    ),
    *(
        Case(line, line, 2, says, trained)
        for line, says in (
            ("evaluate model model.store --cluster local:none", "local:N needs a number"),
            ("compress model.store --out c --cluster local:0", "local:N needs a number"),
            ("train model.store --out m --cluster local:", "local:N needs a number"),
            ("tune model.store --out t --cluster local:-1", "local:N needs a number"),
            ("compare model.store --out c --cluster local:x", "local:N needs a number"),
            ("compare model.store --codes all --cluster local:0", "local:N needs a number"),
            ("train model.store --out m --memory lots", "--memory must be a size"),
            ("train model.store --out m --memory 1MB", "--memory must be at least"),
            ("train model.store --out m --rounds 2", "--rounds does not belong"),
            ("train model.store --out m --objective warp --rounds 0", "--rounds"),
        )
    ),
    Case("plan: nothing stated", "plan", 2, "State --images and --classes"),
    Case("plan: unknown job", "plan --like mnist", 2, "--like must be one of imagenet10k, web97k"),
    Case(
        "plan: memory that is no size",
        "plan --images 9 --classes 2 --dim 4 --memory lots",
        2,
        "--memory must be a size",
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
            "--eta fast",
            "--signature best",
            "--descriptor surf",
            "--map rbf --signature bov",
            "--map chi2",
            "--soft --signature vlad",
            "--weights --signature bov",
            "--within",
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
            f"{BARE if option.startswith('--objective') else TRAIN} {option}",
            2,
            says,
            lambda h, r: write_images(h / "images"),
        )
        for option, says in (
            ("--regions 3", "1, 4 or 8 regions"),
            ("--objective topk --k 0", "at least 1"),
            ("--objective topk --k 500", "it must be at most"),
            ("--objective topk --lam 0", "--lam must be a number above 0"),
            ("--objective topk --variant gamma", "alpha, beta"),
            ("--objective topk --smoothing -1", "--smoothing must be a number of at least 0"),
            ("--objective topk --variant entropy --smoothing 1", "variants alpha and beta"),
            ("--objective softmax --k 500", "it must be at most"),
            ("--objective warp --k 2", "--k does not belong to --objective warp"),
            ("--batch 0", "--batch must be"),
            ("--batch 8 --average", "batch cannot be combined with adagrad"),
            ("--objective topk --tol 2", "--tol must be a number above 0 and below 1"),
            ("--objective dual --loss logistic", "hinge, squared_hinge"),
            ("--lam -1", "lam must be"),
            ("--lam inf", "lam must be"),
            ("--scale much", "--scale must be one of auto, yes, no"),
            ("--balanced", "--balanced does not belong to --objective ovr"),
            ("--adagrad rows", "--adagrad must be one of none, class, feature"),
            ("--max-norm 0", "--max-norm must be a number above 0"),
            ("--max-norm 1 --average", "max_norm cannot be combined with average"),
            ("--objective warp --beta 2", "--beta does not belong to --objective warp"),
            ("--objective warp --max-draws 0", "--max-draws"),
            ("--exact-rank", "--exact-rank does not belong to --objective ovr"),
            ("--objective softmax --no-replacement", "--replacement does not belong"),
            ("--t0 10", "--t0 belongs to --schedule decay"),
            ("--schedule decay --t0 0", "--t0 must be a number above 0"),
            ("--theta -1", "--theta must be a number of at least 0"),
            ("--theta high", "--theta must be a number"),
            ("--eta nan", "--eta must be a number above 0"),
            ("--beta 0", "--beta must be a number above 0"),
            ("--eta inf", "eta must be"),
            ("--dim 8", "--dim does not belong to --objective ovr"),
            ("--objective wsabie --dim 1000000", "an embedding has at most"),
            ("--objective wsabie --dim 0", "--dim"),
            ("--objective wsabie --runs 2 --ensemble 2", "only one can be above 1"),
            ("--objective wsabie --margin 0", "Without a margin nothing is learned"),
            ("--objective wsabie --margin wide", "--margin must be a number above 0 or auto"),
            ("--objective wsabie --last-violators -1", "--last-violators"),
            ("--objective wsabie --sampling all", "--sampling must be one of"),
            ("--objective wsabie --index tree", "--index must be one of"),
            ("--objective wsabie --sampling auc --rank-weight", "rank_weight needs"),
        )
    ),
    *(
        Case(
            f"option of trace {option}",
            f"train images --out m --components 2 --regions 1 --step 12 --objective trace {option}",
            2,
            says,
            lambda h, r: write_images(h / "images"),
        )
        for option, says in (
            ("--lam 0", "lam must be a number above 0"),
            ("--lam much", "--lam must be a number above 0 or auto"),
            ("--relax 2", "relax must be a number above 0 and at most 1"),
            ("--relax little", "--relax must be a number above 0 and at most 1 or auto"),
            ("--gauge l2", "--gauge must be one of"),
            ("--tol 1", "--tol must be a number above 0 and below 1"),
            ("--batch 0", "--batch must be a whole number of at least 1"),
            ("--subspace-every 0", "--subspace-every must be a whole number of at least 1"),
            ("--eta 1", "--eta does not belong to --objective trace"),
        )
    ),
    Case("no such verb", "trian images", 2, "trian"),
    Case("no data named", "train --out m", 2, "DATA"),
    Case("no --out", "train images", 2, "--out"),
]
