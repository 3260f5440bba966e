"""Other trainers of linear models, with their defaults; PyTorch with the best step of a grid."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from peer_problems import Problem, time_to_target, to_percent

EPOCHS = 10
BATCH = 256
MARGIN = 0.2
"""Points below a peer's best validation accuracy that the time_to_target is run to."""
THIRDS = {"adamw": range(-5, 1), "sgd": range(1, 7)}
"""Powers of 3 that the steps of PyTorch are chosen from."""


def run_torch(problem: Problem, name: str) -> dict[str, Any]:
    """Train PyTorch's Linear with every step of the grid; the best wins."""
    import torch

    torch.set_num_threads(1)
    X, y, X_val, y_val = problem.arrays()
    rows, labels = torch.from_numpy(X), torch.from_numpy(y.astype(np.int64))
    held, truths = torch.from_numpy(X_val), torch.from_numpy(y_val.astype(np.int64))

    def train(step: float, epochs: int = EPOCHS) -> tuple[list[tuple[float, float]], float]:
        """Return the curve, and the seconds of the last epoch without validation."""
        torch.manual_seed(0)
        model = torch.nn.Linear(problem.train.dim, problem.n_classes)
        if name == "adamw":
            optimiser: Any = torch.optim.AdamW(model.parameters(), lr=step)
        else:
            optimiser = torch.optim.SGD(model.parameters(), lr=step, momentum=0.9)
        curve, began = [], time.perf_counter()
        for _ in range(epochs):
            epoch_began = time.perf_counter()
            for batch in torch.randperm(len(rows)).split(BATCH):
                optimiser.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(rows[batch]), labels[batch])
                loss.backward()
                optimiser.step()
            seconds = time.perf_counter() - epoch_began
            with torch.no_grad():
                right = float((model(held).argmax(1) == truths).float().mean())
            curve.append((time.perf_counter() - began, round(100 * right, 2)))
        return curve, seconds

    train(1e-3, epochs=1)  # warm
    found = {3.0**power: train(3.0**power) for power in THIRDS[name]}
    curves = {step: curve for step, (curve, _) in found.items()}
    best = max(top1 for curve in curves.values() for _, top1 in curve)
    reached = {step: time_to_target(curve, best - MARGIN) for step, curve in curves.items()}
    step = min((s for s in reached if reached[s] is not None), key=lambda s: reached[s] or 0)
    return {
        "steps": {f"{s:.4g}": max(top1 for _, top1 in curve) for s, curve in curves.items()},
        "step": round(step, 6),
        "epochs": EPOCHS,
        "epoch_seconds": round(min(seconds for _, seconds in found.values()), 3),
        "top1": best,
        "top1_by_epoch": [top1 for _, top1 in curves[step]],
        "target": round(best - MARGIN, 2),
        "seconds_to_target": reached[step],
    }


def run_sgd_classifier(problem: Problem) -> dict[str, Any]:
    """Train scikit-learn's SGDClassifier for three epochs: hinge loss, nothing averaged."""
    from sklearn.linear_model import SGDClassifier

    X, y, X_val, y_val = problem.arrays()
    model = SGDClassifier(loss="hinge", average=False, random_state=0)
    classes = np.arange(problem.n_classes)
    times = [time.perf_counter()]
    for _ in range(3):
        model.partial_fit(X, y, classes=classes)
        times.append(time.perf_counter())
    found = finish(times[-1] - times[0], to_percent(model.predict(X_val), y_val), epochs=3)
    return found | {"epoch_seconds": round(float(np.diff(times).min()), 3)}


def run_linear_svc(problem: Problem, form: str) -> dict[str, Any]:
    """Train scikit-learn's LinearSVC to its end."""
    from sklearn.svm import LinearSVC

    X, y, X_val, y_val = problem.arrays()
    model = LinearSVC(multi_class=form, random_state=0)
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    return finish(seconds, to_percent(model.predict(X_val), y_val))


def run_liblinear(problem: Problem, solver: int) -> dict[str, Any]:
    """Train liblinear itself, solver 3 (hinge, dual) or 4 (Crammer-Singer)."""
    from liblinear.liblinearutil import parameter, predict, train
    from liblinear.liblinearutil import problem as make_problem
    from scipy.sparse import csr_matrix

    X, y, X_val, y_val = problem.arrays()
    task = make_problem(y.astype(np.float64), csr_matrix(X.astype(np.float64)))
    began = time.perf_counter()
    model = train(task, parameter(f"-s {solver} -q"))
    seconds = time.perf_counter() - began
    guesses, _, _ = predict([], csr_matrix(X_val.astype(np.float64)), model, "-q")
    return finish(seconds, to_percent(np.array(guesses), y_val))


def run_cyanure(problem: Problem) -> dict[str, Any]:
    """Train cyanure's multinomial logistic regression, the weight of the norm from a grid."""
    from cyanure.estimators import Classifier

    X, y, X_val, y_val = problem.arrays()
    found = []
    for power in (-5, -4, -3):
        model = Classifier(
            loss="multiclass-logistic",
            lambda_1=10.0**power,
            max_iter=30,
            n_threads=1,
            verbose=False,
        )
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        found.append((to_percent(model.predict(X_val), y_val), seconds, 10.0**power))
    top1, seconds, lam = max(found)
    return finish(seconds, top1) | {"lambda_1": lam, "max_iter": 30}


def run_wabbit(problem: Problem, subsample: int | None) -> dict[str, Any]:
    """Train Vowpal Wabbit's one-against-all for some epochs; parsing is not counted."""
    from vowpalwabbit import Workspace

    X, y, X_val, y_val = problem.arrays()
    options = f"--oaa {problem.n_classes} --quiet -b 24 --loss_function hinge --random_seed 0"
    options += f" --oaa_subsample {subsample}" if subsample else ""
    wabbit = Workspace(options, enable_logging=False)

    def parse(rows: np.ndarray, labels: np.ndarray | None) -> Iterator[Any]:
        for i, row in enumerate(rows):
            numbers = " ".join(f"{j}:{value:.5g}" for j, value in enumerate(row))
            yield wabbit.parse(f"{'' if labels is None else labels[i] + 1} | {numbers}")

    examples, held = list(parse(X, y)), list(parse(X_val, None))
    epochs = 3
    began = time.perf_counter()
    for _ in range(epochs):
        for example in examples:
            wabbit.learn(example)
    seconds = time.perf_counter() - began
    guesses = np.array([wabbit.predict(example) for example in held]) - 1
    for example in (*examples, *held):
        wabbit.finish_example(example)
    wabbit.finish()
    return finish(seconds, to_percent(guesses, y_val), epochs=epochs)


def finish(seconds: float, top1: float, epochs: int | None = None) -> dict[str, Any]:
    """Return the result of a peer that is run once; the target is its own final accuracy."""
    found: dict[str, Any] = {"seconds_to_target": round(seconds, 3), "top1": top1, "target": top1}
    if epochs is not None:
        found |= {"epochs": epochs, "epoch_seconds": round(seconds / epochs, 3)}
    return found
