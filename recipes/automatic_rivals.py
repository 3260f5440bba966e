"""Rivals of `LinearClassifier()`: other trainers, and other methods of myriad.

A rival takes a problem and a seed, chooses its setting by folds of the training rows, and returns
what it answers for the test rows, with its accuracy on the folds and its processor time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from automatic_problems import Problem
from scipy.linalg import eigh

FOLDS = 3
CS = np.logspace(-2, 3, 6)
WABBIT_RATES = (0.1, 0.5, 2.0)
LEARNING_RATES = 10.0 ** -np.arange(1.5, 4.1, 0.5)
TORCH_EPOCHS, TORCH_EPOCHS_OF_MANY, TORCH_BATCH = 30, 10, 256
WABBIT_EPOCHS, SGD_EPOCHS = 5, 5
MOST_PRODUCTS = 2e10
"""Rows x features x classes above which a rival is judged on one fold, PyTorch in few epochs."""


def mean_class_accuracy(y: np.ndarray, guesses: np.ndarray) -> float:
    """Return the mean of the accuracies of the classes, in percent."""
    sizes = np.bincount(y)
    right = np.bincount(y[guesses == y], minlength=len(sizes))
    return 100.0 * float((right[sizes > 0] / sizes[sizes > 0]).mean())


def is_large(X: np.ndarray, y: np.ndarray) -> bool:
    """Return whether a search on all folds would take hours."""
    return X.size * float(y.max() + 1) > MOST_PRODUCTS


def draw_folds(y: np.ndarray, seed: int) -> np.ndarray:
    """Return the fold of each row; the rows of a class are spread evenly."""
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    folds = np.empty(len(y), int)
    folds[order] = np.arange(len(y)) % FOLDS
    return folds


def reduce(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in the coordinates of their span where they have more features than rows."""
    if X.shape[1] <= len(X):
        return X, X_test
    values, vectors = eigh((X @ X.T).astype(np.float64))
    kept = values > 1e-9 * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    test = (X_test @ X.T) @ (vectors / np.sqrt(values))
    return (vectors * np.sqrt(values)).astype(np.float32), test.astype(np.float32)


def normalise(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return centred rows of norm 1."""
    mean = X.mean(axis=0)
    found = [rows - mean for rows in (X, X_test)]
    for rows in found:
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return found[0], found[1]


Make = Callable[[float], Any]


def search(
    problem: Problem, make: Make, values: Sequence[float], *, normalised: bool, seed: int
) -> dict[str, Any]:
    """Choose a value by folds, train on all rows, and score the test rows."""
    X, X_test = problem.X, problem.X_test
    if normalised:
        X, X_test = normalise(X, X_test)
    X, X_test = reduce(X, X_test)
    folds, scores = draw_folds(problem.y, seed), []
    held = range(1) if is_large(X, problem.y) else range(FOLDS)
    judged = np.isin(folds, held)
    for value in values:
        guesses = np.empty_like(problem.y)
        for fold in held:
            kept = folds != fold
            guesses[~kept] = make(value).fit(X[kept], problem.y[kept]).predict(X[~kept])
        scores.append(mean_class_accuracy(problem.y[judged], guesses[judged]))
    best = values[int(np.argmax(scores))]
    guesses = make(best).fit(X, problem.y).predict(X_test)
    return {"cv": max(scores), "guesses": guesses, "value": float(best), "scores": scores}


class AdamW:
    """PyTorch's linear layer by AdamW with a cosine schedule."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def fit(self, X: np.ndarray, y: np.ndarray) -> AdamW:
        """Train for a fixed number of epochs."""
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
        rows, labels = torch.from_numpy(X), torch.from_numpy(y)
        self.layer = torch.nn.Linear(X.shape[1], int(y.max()) + 1)
        optimiser = torch.optim.AdamW(self.layer.parameters(), lr=self.rate)
        epochs = TORCH_EPOCHS_OF_MANY if is_large(X, y) else TORCH_EPOCHS
        steps = epochs * -(-len(X) // TORCH_BATCH)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        for _ in range(epochs):
            for batch in torch.randperm(len(rows)).split(TORCH_BATCH):
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(self.layer(rows[batch]), labels[batch]).backward()
                optimiser.step()
                schedule.step()
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the best class of each row."""
        import torch

        with torch.no_grad():
            return self.layer(torch.from_numpy(X)).argmax(1).numpy()


class Wabbit:
    """Vowpal Wabbit's one-against-all, a few epochs over rows that are parsed once."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def fit(self, X: np.ndarray, y: np.ndarray) -> Wabbit:
        """Train with the logistic loss."""
        from vowpalwabbit import Workspace

        words = f"--oaa {int(y.max()) + 1} -b 22 --loss_function logistic -l {self.rate}"
        self.wabbit = Workspace(f"{words} --quiet --random_seed 0", enable_logging=False)
        order = np.random.default_rng(0).permutation(len(y))
        examples = [self.parse(X[i], f"{y[i] + 1}") for i in order]
        for _ in range(WABBIT_EPOCHS):
            for example in examples:
                self.wabbit.learn(example)
        return self

    def parse(self, row: np.ndarray, label: str) -> Any:
        """Return a row as an example of Vowpal Wabbit."""
        numbers = " ".join(f"{j}:{value:.5g}" for j, value in enumerate(row))
        return self.wabbit.parse(f"{label} | {numbers}")

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the best class of each row."""
        return np.array([self.wabbit.predict(self.parse(row, "")) - 1 for row in X])


class NapkinXC:
    """napkinXC's one-vs-rest logistic regression, or its tree of labels."""

    def __init__(self, C: float, kind: str) -> None:
        self.C, self.kind = C, kind

    def fit(self, X: np.ndarray, y: np.ndarray) -> NapkinXC:
        """Train on one thread; the model is written to a temporary folder."""
        from napkinxc import models

        self.folder = tempfile.TemporaryDirectory()
        kept = {"weights_threshold": 0.0}  # features are dense: small weights matter
        kind = getattr(models, self.kind)
        self.model = kind(self.folder.name, threads=1, liblinear_c=self.C, **kept)
        self.model.fit(X, y.tolist())
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the best class of each row; a row without an answer counts as class 0."""
        return np.array([(found or [0])[0] for found in self.model.predict(X, top_k=1)])


def sgd_classifier(alpha: float) -> Any:
    """Return scikit-learn's SGDClassifier, averaged, for a few epochs."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(
        alpha=alpha, average=True, max_iter=SGD_EPOCHS, loss="log_loss", random_state=0
    )


def logistic(C: float, **options: Any) -> Any:
    """Return scikit-learn's logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=C, max_iter=1000, **options)


def linear_svc(C: float) -> Any:
    """Return scikit-learn's linear SVM."""
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C, max_iter=2000)


def ridge(alpha: float) -> Any:
    """Return scikit-learn's ridge classifier."""
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier(alpha=alpha)


def discriminant(shrinkage: float) -> Any:
    """Return scikit-learn's linear discriminant analysis, with a covariance that is shrunk."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage)


def own(kind: str, **options: Any) -> Callable[[Problem, int], dict[str, Any]]:
    """Return a run of an estimator of myriad, whose accuracy on folds is of the same settings."""

    def run(problem: Problem, seed: int) -> dict[str, Any]:
        import myriad

        model = getattr(myriad, kind)(threads=1, random_state=seed, **options)
        began = time.process_time()
        model.fit(problem.X, problem.y)
        seconds = time.process_time() - began
        found = {"guesses": model.predict(problem.X_test), "settings": model.settings_}
        folds, guesses = draw_folds(problem.y, seed), np.empty_like(problem.y)
        if kind != "LinearClassifier":  # the best rival is chosen by these folds
            for fold in range(FOLDS):
                kept = folds != fold
                part = getattr(myriad, kind)(threads=1, random_state=seed, **options)
                guesses[~kept] = part.fit(problem.X[kept], problem.y[kept]).predict(
                    problem.X[~kept]
                )
            found["cv"] = mean_class_accuracy(problem.y, guesses)
        return found | {"seconds": seconds}

    return run


def peer(
    make: Make, values: Sequence[float], *, normalised: bool
) -> Callable[[Problem, int], dict[str, Any]]:
    """Return a run of a rival whose value is searched."""
    return lambda problem, seed: search(problem, make, values, normalised=normalised, seed=seed)


def time_logistic_cv(problem: Problem, seed: int) -> dict[str, Any]:
    """Return the time and accuracy of LogisticRegressionCV with 6 values and 3 folds."""
    from sklearn.linear_model import LogisticRegressionCV

    began = time.process_time()
    X, X_test = reduce(problem.X, problem.X_test)
    model = LogisticRegressionCV(Cs=CS, cv=FOLDS).fit(X, problem.y)
    seconds = time.process_time() - began
    return {"guesses": model.predict(X_test), "seconds": seconds}


RIVALS: dict[str, Callable[[Problem, int], dict[str, Any]]] = {
    "auto": own("LinearClassifier"),
    "auto quick": own("LinearClassifier", search="quick"),
    "sgd": own("LinearSGD"),
    "softmax": own("LinearSGD", objective="softmax", average=True),
    "dual": own("DualSVM"),
    "dual hinge": own("DualSVM", loss="hinge"),
    "topk": own("TopKSVM"),
    "wsabie": own("Wsabie"),
    "trace": own("TraceNormClassifier"),
    "logistic cv": time_logistic_cv,
    "logistic": peer(logistic, CS, normalised=False),
    "logistic normalised": peer(logistic, CS, normalised=True),
    "logistic balanced": peer(partial(logistic, class_weight="balanced"), CS, normalised=True),
    "svc": peer(linear_svc, CS, normalised=False),
    "svc normalised": peer(linear_svc, CS, normalised=True),
    "ridge": peer(ridge, np.logspace(-3, 2, 6), normalised=False),
    "ridge normalised": peer(ridge, np.logspace(-3, 2, 6), normalised=True),
    "lda": peer(discriminant, (0.001, 0.01, 0.05, 0.2, 0.5, 0.9), normalised=False),
    "adamw": peer(AdamW, LEARNING_RATES, normalised=False),
    "adamw normalised": peer(AdamW, LEARNING_RATES, normalised=True),
    "sgdclassifier": peer(sgd_classifier, np.logspace(-7, -2, 6), normalised=True),
    "wabbit": peer(Wabbit, WABBIT_RATES, normalised=True),
    "napkinxc": peer(partial(NapkinXC, kind="OVR"), CS, normalised=True),
    "napkinxc tree": peer(partial(NapkinXC, kind="PLT"), CS, normalised=True),
}
