"""The sets of the projections: who belongs to them, and the least of a linear function over them.

A point x of a convex set is the best one exactly if no point y of it has ``<g, y> < <g, x>``, g
being the gradient at x. The least of a linear function over each set is known in closed form, so
optimality is checked at any size without a second solver.
"""

import numpy as np


def fill(costs, u, r):
    """Return the least of ``<costs, y>`` over 0 <= y <= u, 1'y = r: fill up the cheapest first."""
    room = np.clip(r - u * np.arange(len(costs)), 0.0, u) if np.isfinite(u) else np.zeros(0)
    if not np.isfinite(u):
        return float(r * costs.min())
    return float(np.sort(costs) @ room)


class Simplex:
    def __init__(self, r, equal):
        self.r, self.equal, self.rho, self.k = r, equal, 0.0, 1

    def excess(self, x):
        total = x.sum() - self.r
        return max(-x.min(), abs(total) if self.equal else total)

    def least(self, g):
        return fill(g if self.equal else np.minimum(g, 0), np.inf, self.r)


class Knapsack:
    def __init__(self, u, r, equal):
        self.u, self.r, self.equal, self.rho = u, r, equal, 0.0

    def excess(self, x):
        total = x.sum() - self.r
        return max(-x.min(), x.max() - self.u, abs(total) if self.equal else total)

    def least(self, g):
        return fill(g if self.equal else np.minimum(g, 0), self.u, self.r)


class Cone:
    def __init__(self, k, rho):
        self.k, self.rho = k, rho

    def excess(self, x):
        return max(-x.min(), x.max() - x.sum() / self.k)

    def least(self, g):
        """Zero, or without a bound; a ray that is better than zero by rounding counts as none."""
        slope = np.sort(g)[: self.k].sum() if self.k <= len(g) else 0.0
        return min(0.0, slope) * self.reach

    reach = 1.0


class Alpha(Cone):
    def __init__(self, k, rho, r):
        super().__init__(k, rho)
        self.r = r

    def excess(self, x):
        return max(super().excess(x), x.sum() - self.r)

    def least(self, g):
        if self.k > len(g):
            return 0.0
        return min(0.0, float(np.sort(g)[: self.k].sum() * self.r / self.k))


class Beta:
    def __init__(self, k, rho, r):
        self.k, self.rho, self.r = k, rho, r

    def excess(self, x):
        return max(-x.min(), x.max() - self.r / self.k, x.sum() - self.r)

    def least(self, g):
        return float(np.minimum(np.sort(g)[: self.k], 0).sum() * self.r / self.k)


def objective(b, x, rho):
    return float(((b - x) ** 2).sum() + rho * x.sum() ** 2)


def suboptimality(b, x, shape):
    """Return a bound of how much better than `x` a point of the set can be."""
    g = 2 * (x - b) + 2 * shape.rho * x.sum()
    if type(shape) is Cone:
        # The cone holds multiples of x: the bound of the ray is x's own size.
        shape.reach = x.sum() / shape.k + np.abs(b).max() / shape.k
    return float(g @ x) - shape.least(g)
