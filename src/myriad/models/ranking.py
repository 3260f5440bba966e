"""The k best of many scores, without sorting them all."""

from __future__ import annotations

from myriad._jit import jit


@jit
def select_top(scores, labels, best):
    """Write the k best classes of each row and their scores, best first, lowest class on ties.

    A class enters the short sorted list only by beating its last entry, which after a few classes
    hardly ever happens: one comparison a class.

    Parameters
    ----------
    scores : float array of shape (n_samples, n_classes)
    labels : int32 array of shape (n_samples, k), k <= n_classes; written.
    best : float array of shape (n_samples, k); written.
    """
    k = labels.shape[1]
    for i in range(scores.shape[0]):
        held = 0
        for c in range(scores.shape[1]):
            score = scores[i, c]
            if held == k and not score > best[i, k - 1]:
                continue
            place = min(held, k - 1)
            while place > 0 and score > best[i, place - 1]:
                best[i, place] = best[i, place - 1]
                labels[i, place] = labels[i, place - 1]
                place -= 1
            best[i, place] = score
            labels[i, place] = c
            held = min(held + 1, k)


@jit
def merge_top(products, offsets, labels, best, first):
    """Take some more classes into the k best of each row; see `select_top`.

    Parameters
    ----------
    products : float array of shape (n_samples, m), the scores of the classes from `first` on, but
        for their `offsets`, of shape (m,).
    labels : int32 array of shape (n_samples, k), -1 where nothing is held yet; changed.
    best : float array of shape (n_samples, k), -inf where nothing is held yet; changed.
    """
    k = labels.shape[1]
    for i in range(products.shape[0]):
        last = best[i, k - 1]
        for c in range(products.shape[1]):
            score = products[i, c] + offsets[c]
            if not (score > last or labels[i, k - 1] < 0):
                continue
            place = k - 1
            while place > 0 and (score > best[i, place - 1] or labels[i, place - 1] < 0):
                best[i, place] = best[i, place - 1]
                labels[i, place] = labels[i, place - 1]
                place -= 1
            best[i, place] = score
            labels[i, place] = first + c
            last = best[i, k - 1]


@jit
def merge_cell(products, offsets, classes, rows, labels, best):
    """Take the classes of a cell into the k best of some rows, the lowest class on ties.

    Parameters
    ----------
    products : float array of shape (n_rows, m), the scores of the classes but for their `offsets`,
        of shape (m,).
    classes : int32 array of shape (m,), which are taken into no row twice.
    rows : int64 array of shape (n_rows,), places of the rows among `labels` and `best`.
    labels, best : as those of `merge_top`; changed.
    """
    k = labels.shape[1]
    for j in range(products.shape[0]):
        i = rows[j]
        last = best[i, k - 1]
        for c in range(products.shape[1]):
            score, label = products[j, c] + offsets[c], classes[c]
            if score < last:
                continue
            place = k
            while place > 0:
                held = labels[i, place - 1]
                above = best[i, place - 1]
                if held >= 0 and not (score > above or (score == above and label < held)):
                    break
                if place < k:
                    best[i, place], labels[i, place] = above, held
                place -= 1
            if place < k:
                best[i, place], labels[i, place] = score, label
                last = best[i, k - 1]
