"""The Fisher vector descriptor by descriptor, in float64."""

import numpy as np

from tests.reference.posteriors import log_densities


def fisher_vector(values, mixture):
    """Return the vector of one region before normalisation: first moments, then second."""
    weights = mixture.weights.astype(np.float64)
    deviations = np.sqrt(mixture.variances.astype(np.float64))
    u, v = np.zeros(mixture.means.shape), np.zeros(mixture.means.shape)
    for x in values:
        logits = log_densities(x[None], weights, mixture.means, mixture.variances)[0]
        q = np.exp(logits - logits.max())
        q /= q.sum()
        z = (x - mixture.means) / deviations
        u += q[:, None] * z
        v += q[:, None] * (z**2 - 1)
    n = max(len(values), 1)
    u /= n * np.sqrt(weights)[:, None]
    v /= n * np.sqrt(2 * weights)[:, None]
    return np.concatenate([u.ravel(), v.ravel()])


def normalise(vectors, power=0.5):
    """Return vectors of regions after signed power, L2 for each, L2 over all, as one vector."""
    done = []
    for vector in vectors:
        powered = np.sign(vector) * np.abs(vector) ** power
        norm = np.linalg.norm(powered)
        done.append(powered / norm if norm > 0 else powered)
    joined = np.concatenate(done)
    norm = np.linalg.norm(joined)
    return joined / norm if norm > 0 else joined
