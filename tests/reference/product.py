"""Product codes in plain NumPy: float64 distances, one sub-vector and one bit at a time."""

import numpy as np


def subvectors(rows, d):
    """Return the padded sub-vectors (n_samples, n_sub, d) in float64."""
    n_samples, dim = rows.shape
    n_sub = -(-dim // d)
    padded = np.zeros((n_samples, n_sub * d))
    padded[:, :dim] = rows
    return padded.reshape(n_samples, n_sub, d)


def interleave(rows, regions, d):
    """Return rows whose sub-vectors have features of all regions, number by number."""
    dim, some = rows.shape[1], d // regions
    result = np.empty_like(rows)
    for feature in range(dim):
        region, place = divmod(feature, dim // regions)
        block, inside = divmod(place, d)
        part, left = divmod(inside, some)
        result[:, part * (dim // regions) + block * d + region * some + left] = rows[:, feature]
    return result


def distances(rows, codebooks):
    """Return the squared distances (n_samples, n_sub, n_centroids) to each one's own book."""
    parts = subvectors(rows, codebooks.shape[2])
    result = np.empty((*parts.shape[:2], codebooks.shape[1]))
    for m in range(parts.shape[1]):
        book = codebooks[m % len(codebooks)].astype(np.float64)
        result[:, m] = ((parts[:, m, None, :] - book[None]) ** 2).sum(axis=2)
    return result


def assign(rows, codebooks):
    """Return the index of the nearest centroid, the lowest of equals."""
    return distances(rows, codebooks).argmin(axis=2)


def look_up(indices, codebooks, dim):
    """Return the rows that indices stand for."""
    parts = [codebooks[m % len(codebooks)][indices[:, m]] for m in range(indices.shape[1])]
    return np.concatenate(parts, axis=1)[:, :dim]


def pack(indices, bits):
    """Return each row of indices as a little-endian stream of bits, filled up with zeros."""
    stream = (indices[:, :, None] >> np.arange(bits)) & 1
    flat = stream.reshape(len(indices), -1).astype(np.uint8)
    return np.packbits(flat, axis=1, bitorder="little")


def k_means(points, n_centroids, rounds):
    """Return the book after some rounds; centroids move after every eighth of the points."""
    points = points.astype(np.float64)
    n = len(points)
    book = points[:n_centroids].copy()
    book[-(-4 * n_centroids // 5) :] = book[0]
    assigned = np.full(n, -1)
    for _ in range(rounds):
        for part in np.split(np.arange(n), range(-(-n // 8), n, -(-n // 8))):
            assigned[part] = ((points[part, None] - book[None]) ** 2).sum(axis=2).argmin(axis=1)
            for c in np.unique(assigned[assigned >= 0]):
                book[c] = points[assigned == c].mean(axis=0)
        empty = np.setdiff1d(np.arange(n_centroids), assigned)
        if len(empty):
            errors = np.cumsum(((points - book[assigned]) ** 2).sum(axis=1))
            wanted = (np.arange(len(empty)) + 0.5) * errors[-1] / len(empty)
            drawn = np.searchsorted(errors, wanted, side="right")
            book[empty] = points[drawn]  # different points, if no error is more than its share
    return book
