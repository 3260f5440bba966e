"""Adagrad, norm bounds and averages in plain NumPy: the weights after every step are summed."""

import math

import numpy as np


class OptimisedWeights:
    """Weights of all classes, one step at a time."""

    def __init__(self, n_classes, dim, *, adagrad="none", max_norm=math.inf, average=False,
                 moments=None, chunk=None):  # fmt: skip
        self.W, self.b = np.zeros((n_classes, dim)), np.zeros(n_classes)
        self.adagrad, self.max_norm, self.average, self.chunk = adagrad, max_norm, average, chunk
        self.alpha = np.zeros(n_classes)
        self.squares = np.ones(dim) if moments is None else np.array(moments, np.float64)
        self.pending = np.zeros(dim)
        self.begin_window()

    def begin_window(self):
        self.total_W, self.total_b = np.zeros_like(self.W), np.zeros_like(self.b)
        self.steps = np.zeros(len(self.b))

    def begin_epoch(self, epoch):
        if epoch & (epoch - 1) == 0:
            self.begin_window()

    def end_row(self, position, n):
        """Renew the rates of the features at the end of a chunk."""
        if self.chunk and ((position + 1) % self.chunk == 0 or position == n - 1):
            self.squares = self.squares + self.pending
            self.pending[:] = 0

    def step(self, c, x, coefficient, eta, lam, bias_rate):
        """Step class c: decay it, then add the row times the coefficient."""
        self.W[c] *= 1 - eta * lam
        x = np.asarray(x, np.float64)
        if self.adagrad == "class" and coefficient != 0:
            self.alpha[c] += coefficient**2 * (x @ x) / len(x)
        if self.adagrad == "class":
            eta = eta / math.sqrt(self.alpha[c]) if self.alpha[c] > 0 else 0.0
        rates = self.squares**-0.5 if self.adagrad == "feature" else 1.0
        self.pending += coefficient**2 * x * x / len(self.W)
        self.W[c] += eta * coefficient * rates * x
        self.b[c] += eta * bias_rate * coefficient
        norm = np.linalg.norm(self.W[c])
        if norm > self.max_norm:
            self.W[c] *= self.max_norm / norm

    def count(self, classes):
        """Add the weights of some classes to their averages."""
        self.total_W[classes] += self.W[classes]
        self.total_b[classes] += self.b[classes]
        self.steps[classes] += 1

    def result(self):
        if self.average:
            steps = np.maximum(self.steps, 1)
            return self.total_W / steps[:, None], self.total_b / steps
        return self.W, self.b
