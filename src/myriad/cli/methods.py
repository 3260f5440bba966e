"""The options of the training methods; which of them belong to an objective, its method knows."""

from __future__ import annotations

from typing import Annotated

import typer

Loss = Annotated[
    str | None,
    typer.Option(
        help="Loss of ovr: hinge, logistic or squared; of dual: hinge or squared_hinge.",
        show_default="hinge",
    ),
]
Beta = Annotated[
    str | None,
    typer.Option(
        help="Negatives a positive of ovr: a number, all, or auto to search.", show_default="auto"
    ),
]
Eta = Annotated[
    str | None, typer.Option(help="Step: a number, or auto to search.", show_default="auto")
]
Lam = Annotated[
    str | None,
    typer.Option(
        help="Weight of the penalty: a number, or auto to try some.",
        show_default="0; auto of trace",
    ),
]
Relax = Annotated[
    str | None,
    typer.Option(
        help="Of trace: part of lam for the weights on the directions found, or auto.",
        show_default="auto; 1 with a stated lam",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(help="Bring features to unit variance: yes, no or auto.", show_default="auto"),
]
Balanced = Annotated[
    bool | None,
    typer.Option(
        "--balanced", help="Draw classes uniformly: of the joint objectives.", show_default=False
    ),
]
ScheduleName = Annotated[
    str | None,
    typer.Option(
        help="How the step shrinks: fixed, lam (by 1 / lam t) or decay (by 1 / t).",
        show_default="fixed",
    ),
]
T0 = Annotated[
    str | None,
    typer.Option(
        "--t0", help="Steps after which --schedule decay has halved the step.", show_default="1000"
    ),
]
Epochs = Annotated[
    int | None, typer.Option(min=1, help="The most passes over the rows.", show_default="50")
]
Theta = Annotated[
    str | None,
    typer.Option(
        help="Points of accuracy that count as a rise; training stops without one.",
        show_default="0",
    ),
]
Gauge = Annotated[
    str | None,
    typer.Option(
        help="Penalty of trace: trace (low rank), l1 (few weights) or l1_l2 (few features).",
        show_default="trace",
    ),
]
Batch = Annotated[
    int | None,
    typer.Option(help="Of trace: rows of the first mini-batches.", show_default="by the size of W"),
]
SubspaceEvery = Annotated[
    int | None,
    typer.Option(
        help="Of trace: atoms between two minimisations over the support.", show_default="8"
    ),
]
K = Annotated[
    int | None,
    typer.Option(
        "--k",
        help="Guesses that topk allows, 1 to classes - 1 (by default 1); rows that vote in knn "
        "(searched).",
        show_default=False,
    ),
]
Variant = Annotated[
    str | None, typer.Option(help="Loss of topk: alpha or beta.", show_default="alpha")
]
Tol = Annotated[
    str | None,
    typer.Option(
        help="Relative duality gap at which topk, dual and trace stop, between 0 and 1.",
        show_default="0.001; 0.01 of trace",
    ),
]
Dim = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Dimensions of the embedding of wsabie, at most the number of features.",
        show_default="128",
    ),
]
Margin = Annotated[
    str | None,
    typer.Option(
        help="By how much wsabie wants the truth to win: a number, or auto to search.",
        show_default="auto",
    ),
]
Discriminant = Annotated[
    str | None,
    typer.Option(
        help="How wsabie scores: euclidean (nearest prototype) or linear (largest product).",
        show_default="euclidean",
    ),
]
Sampling = Annotated[
    str | None,
    typer.Option(
        help="How wsabie draws wrong classes: warp (until one violates) or auc (one).",
        show_default="warp",
    ),
]
RankWeight = Annotated[
    bool | None,
    typer.Option(
        "--rank-weight",
        help="Weigh steps of wsabie by the estimated rank of the truth.",
        show_default=False,
    ),
]
LastViolators = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Last violators for which wsabie or warp passes a row over; 0 for none.",
        show_default="8; 0 of warp",
    ),
]
Replacement = Annotated[
    bool | None,
    typer.Option(
        "--replacement/--no-replacement",
        help="Whether warp may draw a wrong class twice for a row.",
        show_default="replacement",
    ),
]
ExactRank = Annotated[
    bool | None,
    typer.Option(
        "--exact-rank",
        help="Let warp count all violators instead of estimating their number.",
        show_default=False,
    ),
]
ConstantWeight = Annotated[
    bool | None,
    typer.Option("--constant-weight", help="Let warp weigh all steps alike.", show_default=False),
]
MaxDraws = Annotated[
    int | None,
    typer.Option(
        min=1, help="The most wrong classes that warp draws for a row.", show_default="classes - 1"
    ),
]
Adagrad = Annotated[
    str | None,
    typer.Option(
        help="Steps shrink by gradients: yes, count or no (wsabie); none, class or feature.",
        show_default="yes of wsabie, else none",
    ),
]
Average = Annotated[
    bool | None,
    typer.Option(
        "--average", help="Take the mean of the weights of the latest steps.", show_default=False
    ),
]
MaxNorm = Annotated[
    str | None,
    typer.Option(help="Bound on the norms of weights: a number.", show_default="none"),
]
Ensemble = Annotated[
    int | None,
    typer.Option(min=1, help="Embeddings of wsabie to concatenate.", show_default="1"),
]
Index = Annotated[
    str | None,
    typer.Option(
        help="How the model ranks: exact, or ivf (approximate, its recall is told).",
        show_default="exact",
    ),
]
Rounds = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="With --cluster, how often a pass of a joint objective averages its weights.",
        show_default="8",
    ),
]
