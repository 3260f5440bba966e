"""Wsabie++ one row at a time, compiled: the baseline of training in blocks."""

from __future__ import annotations

import numpy as np
from numba import njit

from myriad.objectives.draws import dot
from myriad.training.embedding.kernels import choose_violator, move_map, move_prototype


@njit(nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def embed(V, x, z):
    """Write the embedding of a row."""
    for j in range(len(V)):
        z[j] = dot(V[j], x)


@njit(nogil=True, error_model="numpy")
def add_row(coefficients, x, V):
    """Add a row to the map."""
    for j in range(len(V)):
        a = coefficients[j]
        for d in range(len(x)):
            V[j, d] += a * x[d]


@njit(nogil=True, error_model="numpy")
def step_sequentially(X, order, rows, classes, V, P, norms, memory, axes, state, unit):
    """Step through rows in an order, reading and changing the whole map for each."""
    z, coefficients = np.empty_like(V[:, 0]), np.empty_like(V[:, 0])
    nothing, marks = np.empty(0, V.dtype), np.empty(0, np.uint8)
    for i in range(len(order)):
        x = X[order[i]]
        labels = classes[rows[i].first : rows[i].last]
        embed(V, x, z)
        label, c, weight = choose_violator(
            P, norms, nothing, z, labels, rows[i].key, memory, marks, 0.0, state[0]
        )
        if c < 0:
            continue
        move_map(P, z, label, c, weight, unit * dot(x, x), coefficients, axes, state[0])
        for j in range(len(coefficients)):
            coefficients[j] *= unit
        add_row(coefficients, x, V)
        move_prototype(P, norms.squares, z, label, weight, memory, state[0])
        move_prototype(P, norms.squares, z, c, -weight, memory, state[0])
        state[0].steps += 1
