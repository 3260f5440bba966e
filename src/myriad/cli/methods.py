"""The options of the training methods; which of them belong to an objective, its method knows."""

from __future__ import annotations

from typing import Annotated

import typer

Loss = Annotated[
    str | None,
    typer.Option(help="Loss of ovr: hinge, logistic or squared.", show_default="hinge"),
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
        help="Weight of the squared norm: a number, or auto to try some where rows are few.",
        show_default="0",
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
Epochs = Annotated[
    int | None, typer.Option(min=1, help="The most passes over the rows.", show_default="50")
]
