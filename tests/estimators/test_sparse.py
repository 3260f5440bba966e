"""Sparse matrices: invalid ones are refused by every estimator, unusual ones give right results.

SciPy's kernels crash on the invalid ones, so a fault here may end the test run itself.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import myriad
from myriad import InputError, NearestMeans
from myriad.estimators.labels import encode_several, encode_sparse
from myriad.estimators.quantizers import _Quantizer
from myriad.estimators.rows_classifier import RowsClassifier
from myriad.models import LinearModel
from myriad.store import SparseRows, as_csr

N_ROWS, N_COLUMNS = 8, 6
PUBLIC = [getattr(myriad, name) for name in myriad.__all__]
CLASSIFIERS = [
    kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, RowsClassifier)
]
QUANTIZERS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, _Quantizer)]
LABELS = np.arange(N_ROWS) % 2


def make_dense():
    """Return rows that are 0 and 1, so that they can also be labels."""
    return (np.add.outer(np.arange(N_ROWS), np.arange(N_COLUMNS)) % 3 == 0).astype(np.float32)


def change(form, field, alter):
    """Return a function that makes a matrix of a format and changes one of its arrays."""

    def make():
        matrix = sparse.csr_matrix(make_dense()).asformat(form)
        array = getattr(matrix, field)
        array = array if form == "lil" else array.copy()
        changed = alter(array)
        setattr(matrix, field, array if changed is None else changed)
        return matrix

    return make


def put(place, value):
    def alter(array):
        array[place] = value

    return alter


def append(value):
    return lambda array: np.append(array, array.dtype.type(value))


COMPRESSED_FAULTS = {
    "index too large": ("indices", put(3, 100)),
    "index one too large": ("indices", put(-1, max(N_ROWS, N_COLUMNS))),
    "index huge": ("indices", put(0, 2**31 - 1)),
    "index negative": ("indices", put(3, -1)),
    "index very negative": ("indices", put(0, -(2**31))),
    "indices too short": ("indices", lambda array: array[:-1]),
    "indices too long": ("indices", append(0)),
    "indices missing": ("indices", lambda array: array[:0]),
    "indices of floats": ("indices", lambda array: array.astype(np.float64)),
    "indices of bytes": ("indices", lambda array: array.astype(np.int8)),
    "indices unsigned": ("indices", lambda array: array.astype(np.uint64)),
    "indices a list": ("indices", lambda array: array.tolist()),
    "indices a matrix": ("indices", lambda array: array[:, None]),
    "indptr decreases": ("indptr", put(2, 0)),
    "indptr jumps": ("indptr", put(2, 10**6)),
    "indptr negative": ("indptr", put(1, -5)),
    "indptr ends too late": ("indptr", put(-1, 10**6)),
    "indptr ends one too late": ("indptr", lambda array: np.append(array[:-1], array[-1] + 1)),
    "indptr starts late": ("indptr", put(0, 1)),
    "indptr starts early": ("indptr", put(0, -1)),
    "indptr too short": ("indptr", lambda array: array[:-1]),
    "indptr too long": ("indptr", lambda array: np.append(array, array[-1])),
    "indptr empty": ("indptr", lambda array: array[:0]),
    "indptr of floats": ("indptr", lambda array: array.astype(np.float32)),
    "data too short": ("data", lambda array: array[:-1]),
    "data too long": ("data", lambda array: np.concatenate([array, array[:1]])),
    "data missing": ("data", lambda array: array[:0]),
    "data of objects": ("data", lambda array: array.astype(object)),
    "data of text": ("data", lambda array: array.astype(str)),
    "data a list": ("data", lambda array: array.tolist()),
}
COORDINATE_FAULTS = {
    "row too large": ("row", put(0, N_ROWS)),
    "row negative": ("row", put(0, -1)),
    "row too short": ("row", lambda array: array[:-1]),
    "col too large": ("col", put(-1, 2**31 - 1)),
    "col negative": ("col", put(-1, -(2**31))),
    "col too long": ("col", append(0)),
    "data too short": ("data", lambda array: array[:-1]),
}
DIAGONAL_FAULTS = {
    "offsets too long": ("offsets", append(30)),
    "offsets too short": ("offsets", lambda array: array[:-1]),
    "offsets repeated": ("offsets", lambda array: np.full_like(array, 1)),
    "offsets beyond 32 bits": ("offsets", lambda array: array.astype(np.int64) + 2**32),
    "data flat": ("data", lambda array: array[0]),
}
LIST_FAULTS = {
    "column too large": ("rows", lambda rows: rows[0].__setitem__(0, N_COLUMNS)),
    "column negative": ("rows", lambda rows: rows[0].__setitem__(0, -1)),
    "more columns than values": ("rows", lambda rows: rows[0].append(1)),
    "more values than columns": ("data", lambda rows: rows[0].append(1.0)),
    "a row too few": ("rows", lambda rows: rows[:-1]),
    "a row of nothing": ("rows", put(0, None)),
}
FAULTS = {
    f"{form}: {name}": change(form, *fault)
    for forms, faults in (
        (("csr", "csc", "bsr"), COMPRESSED_FAULTS),
        (("coo",), COORDINATE_FAULTS),
        (("dia",), DIAGONAL_FAULTS),
        (("lil",), LIST_FAULTS),
    )
    for form in forms
    for name, fault in faults.items()
}


def make_wrong_shape():
    matrix = sparse.csr_matrix(make_dense())
    matrix._shape = (N_ROWS, 2)
    return matrix


FAULTS["csr: fewer columns than its indices say"] = make_wrong_shape
FAULTS["csr: built with an index that is too large"] = lambda: sparse.csr_matrix(
    (np.ones(N_ROWS), np.full(N_ROWS, 10**6), np.arange(N_ROWS + 1)), shape=(N_ROWS, N_COLUMNS)
)

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:scipy")


@pytest.fixture(params=FAULTS.values(), ids=FAULTS.keys())
def invalid(request):
    return request.param()


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_classifier_refuses_invalid_rows(kind, invalid):
    with pytest.raises(ValueError, match="sparse matrix"):
        kind().fit(invalid, LABELS)
    if hasattr(kind, "partial_fit"):
        with pytest.raises(ValueError, match="sparse matrix"):
            kind().partial_fit(invalid, LABELS, classes=[0, 1])
    trained = kind()
    trained.model_ = LinearModel(np.ones((2, N_COLUMNS), np.float32), np.zeros(2, np.float32))
    trained.classes_, trained.n_features_in_ = np.arange(2), N_COLUMNS
    for use in (trained.predict, trained.decision_function, trained.predict_topk):
        with pytest.raises(ValueError, match="sparse matrix"):
            use(invalid)
    with pytest.raises(ValueError, match="sparse matrix"):
        trained.score(invalid, LABELS)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_every_classifier_refuses_invalid_labels(kind, invalid):
    X = make_dense()
    with pytest.raises(ValueError, match="y is not a valid sparse matrix"):
        kind().fit(X, invalid)
    if hasattr(kind, "partial_fit"):  # not all of them take several labels per row
        with pytest.raises(ValueError, match=r"sparse matrix|one label"):
            kind().partial_fit(X, invalid, classes=np.arange(N_COLUMNS))


@pytest.mark.parametrize("kind", QUANTIZERS)
def test_every_quantizer_refuses_sparse_rows(kind, invalid):
    with pytest.raises(ValueError, match="numeric matrix"):
        kind().fit(invalid)


def test_invalid_rows_are_refused_as_a_source(invalid):
    with pytest.raises(InputError, match=r"CSR|valid"):
        SparseRows(invalid, LABELS)


def make_duplicates():
    """Return each entry as two halves, in reverse order within a row."""
    matrix = sparse.csr_matrix(make_dense())
    data, indices = np.repeat(matrix.data / 2, 2), np.repeat(matrix.indices, 2)
    bounds = 2 * matrix.indptr
    for start, stop in pairwise(bounds):
        indices[start:stop] = indices[start:stop][::-1].copy()
    return sparse.csr_matrix((data, indices, bounds), shape=matrix.shape)


def make_stale_flags():
    matrix = make_duplicates()
    matrix.has_canonical_format = matrix.has_sorted_indices = True
    return matrix


def make_spare_room():
    matrix = sparse.csr_matrix(make_dense())
    matrix.indices = np.append(matrix.indices, np.int32(10**6))
    matrix.data = np.append(matrix.data, np.float32(np.nan))
    return matrix


def make_mixed_types():
    matrix = sparse.csr_matrix(make_dense())
    matrix.indices = matrix.indices.astype(np.int64)
    return matrix


def make_strided():
    matrix = sparse.csr_matrix(make_dense())
    matrix.indices, matrix.data = np.repeat(matrix.indices, 2)[::2], matrix.data[::-1][::-1]
    return matrix


VALID = {
    "duplicates": make_duplicates,
    "stale flags": make_stale_flags,
    "spare room": make_spare_room,
    "mixed types": make_mixed_types,
    "strided": make_strided,
    "array": lambda: sparse.csr_array(make_dense()),
    "float64": lambda: sparse.csr_matrix(make_dense().astype(np.float64)),
    "integers": lambda: sparse.csr_matrix(make_dense().astype(np.int64)),
    "booleans": lambda: sparse.csr_matrix(make_dense() == 1),
    "spdiags": lambda: sparse.spdiags(np.ones((2, 6)), [0, 90], N_ROWS, N_COLUMNS),
} | {
    form: lambda form=form: sparse.csr_matrix(make_dense()).asformat(form)
    for form in ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
}


@pytest.fixture(params=VALID.values(), ids=VALID.keys())
def valid(request):
    return request.param()


def test_unusual_rows_give_what_dense_ones_do(valid):
    dense = as_csr(valid).toarray().astype(np.float32)
    if valid.nnz == make_dense().sum():
        np.testing.assert_array_equal(dense, make_dense())
    expected = NearestMeans(threads=1).fit(dense, LABELS)
    for found in (
        NearestMeans(threads=1).fit(valid, LABELS),
        NearestMeans(threads=1).partial_fit(valid, LABELS, classes=[0, 1]),
    ):
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        np.testing.assert_array_equal(
            found.decision_function(valid), expected.decision_function(dense)
        )


def test_unusual_labels_give_what_dense_ones_do(valid):
    classes, sets = encode_sparse(valid)
    expected_classes, expected = encode_several(as_csr(valid).toarray())
    np.testing.assert_array_equal(classes, expected_classes)
    np.testing.assert_array_equal(sets.starts, expected.starts)
    np.testing.assert_array_equal(sets.classes, expected.classes)


def test_the_given_matrix_is_not_changed():
    matrix = make_duplicates()
    before = matrix.data.copy(), matrix.indices.copy()
    encode_sparse(matrix)
    NearestMeans(threads=1).fit(matrix, LABELS).predict(matrix)
    np.testing.assert_array_equal(matrix.data, before[0])
    np.testing.assert_array_equal(matrix.indices, before[1])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_numbers_that_float32_cannot_hold_are_refused(value):
    matrix = sparse.csr_matrix(make_dense().astype(np.float64))
    trained = NearestMeans(threads=1).fit(matrix, LABELS)
    matrix.data[2] = value
    for rows in (matrix, matrix.toarray()):
        with pytest.raises(ValueError, match=r"NaN|infinity|infinite|range of float32"):
            NearestMeans(threads=1).fit(rows, LABELS)
        with pytest.raises(ValueError, match=r"NaN|infinity|infinite|range of float32"):
            trained.predict(rows)


def test_a_sum_of_duplicates_that_overflows_is_refused():
    matrix = sparse.csr_matrix(
        (np.full(2, 3e38, np.float32), np.array([1, 1]), np.array([0, 2, 2])), shape=(2, 3)
    )
    with pytest.raises(InputError, match="Row 0 has a NaN, infinite or too large value"):
        SparseRows(matrix).read(range(2))
