"""Kernels that find the k best classes without sorting all scores."""

from __future__ import annotations

from myriad._jit import jit


@jit
def select_top(scores, labels, best):
    """Write the k best classes of each row and their scores, best first, lowest class on ties.

    The k best are kept as a short sorted list. A class enters it only if its score beats the last
    entry, which is rare after a few classes: so the usual cost is one comparison per class.

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
            # Insertion: entries with lower scores move one position down. Equal scores do not move,
            # so the lower class, which came first, stays in front.
            position = min(held, k - 1)
            while position > 0 and score > best[i, position - 1]:
                best[i, position] = best[i, position - 1]
                labels[i, position] = labels[i, position - 1]
                position -= 1
            best[i, position] = score
            labels[i, position] = c
            held = min(held + 1, k)


@jit
def merge_top(products, offsets, labels, best, first):
    """Merge the classes from `first` on into the k best of each row; see `select_top`.

    Parameters
    ----------
    products : float array of shape (n_samples, m), the scores of the classes from `first` on,
        without their `offsets`, of shape (m,).
    labels : int32 array of shape (n_samples, k), -1 in empty entries; changed in place.
    best : float array of shape (n_samples, k), -inf in empty entries; changed in place.
    """
    k = labels.shape[1]
    for i in range(products.shape[0]):
        last = best[i, k - 1]
        for c in range(products.shape[1]):
            score = products[i, c] + offsets[c]
            # The list may have empty entries, into which even a score of -inf must go.
            if not (score > last or labels[i, k - 1] < 0):
                continue
            position = k - 1
            while position > 0 and (score > best[i, position - 1] or labels[i, position - 1] < 0):
                best[i, position] = best[i, position - 1]
                labels[i, position] = labels[i, position - 1]
                position -= 1
            best[i, position] = score
            labels[i, position] = first + c
            last = best[i, k - 1]


@jit
def merge_cell(products, offsets, classes, rows, labels, best):
    """Merge the classes of a cell into the k best of some rows, lowest class on ties.

    Cells are not visited in the order of class numbers, so ties compare the numbers.

    Parameters
    ----------
    products : float array of shape (n_rows, m), the scores of the classes without their `offsets`,
        of shape (m,).
    classes : int32 array of shape (m,); a class must not be merged into a row twice.
    rows : int64 array of shape (n_rows,), positions of the rows in `labels` and `best`.
    labels, best : as in `merge_top`; changed in place.
    """
    k = labels.shape[1]
    for j in range(products.shape[0]):
        i = rows[j]
        last = best[i, k - 1]
        for c in range(products.shape[1]):
            score, label = products[j, c] + offsets[c], classes[c]
            if score < last:
                continue
            position = k
            while position > 0:
                held = labels[i, position - 1]
                above = best[i, position - 1]
                if held >= 0 and not (score > above or (score == above and label < held)):
                    break
                if position < k:
                    best[i, position], labels[i, position] = above, held
                position -= 1
            if position < k:
                best[i, position], labels[i, position] = score, label
                last = best[i, k - 1]
