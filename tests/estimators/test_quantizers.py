"""Codes through their public doors: fitted on arrays and stores, saved and loaded."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import myriad
from tests.store.making import write_store

N, DIM = 300, 24
QUANTIZERS = {
    "product": myriad.ProductQuantizer(d=4, bits=4),
    "random": myriad.ProductQuantizer(d=4, bits=4, rotation="random"),
    "opq": myriad.ProductQuantizer(d=4, bits=4, rotation="opq"),
    "bits": myriad.SignBits(n_bits=16),
    "all bits": myriad.SignBits(bins=4),
    "turned bits": myriad.SignBits(n_bits=16, turned=True),
    "bilinear": myriad.BilinearCodes(n_bits=16),
    "random bilinear": myriad.BilinearCodes(learned=False),
    "scalar": myriad.ScalarQuantizer(),
}


def make_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, N)
    X = rng.standard_normal((N, DIM)) + rng.standard_normal((3, DIM))[y]
    return X.astype(np.float32), np.array(["ant", "bee", "cow"])[y]


@pytest.fixture(params=QUANTIZERS)
def fitted(request):
    return clone(QUANTIZERS[request.param]).fit(*make_rows())


def test_codes_and_decodes(fitted):
    X, _ = make_rows()
    codes = fitted.encode(X)
    assert codes.dtype == np.uint8
    assert codes.shape == (N, fitted.bytes_per_row)
    assert fitted.ratio == 4 * DIM / fitted.bytes_per_row
    decoded = fitted.decode(codes)
    assert decoded.shape == (N, fitted.code_.decoded_dim)
    assert fitted.n_features_in_ == DIM
    np.testing.assert_array_equal(np.concatenate(list(fitted.encode_blocks(X))), codes)
    with pytest.raises(myriad.InputError, match="features"):
        fitted.encode(X[:, :8])


def test_saved_and_loaded(fitted, tmp_path):
    X, _ = make_rows()
    fitted.save(tmp_path / "code")
    loaded = type(fitted).load(tmp_path / "code")
    np.testing.assert_array_equal(loaded.encode(X), fitted.encode(X))
    other = myriad.ScalarQuantizer if not isinstance(fitted, myriad.ScalarQuantizer) else None
    if other is not None:
        with pytest.raises(myriad.InputError, match="another kind"):
            other.load(tmp_path / "code")


@pytest.mark.parametrize("name", QUANTIZERS)
def test_needs_fitting(name):
    with pytest.raises(NotFittedError):
        clone(QUANTIZERS[name]).encode(make_rows()[0])
    with pytest.raises(NotFittedError):
        _ = clone(QUANTIZERS[name]).ratio


@pytest.mark.parametrize(
    "quantizer",
    [myriad.SignBits(n_bits=8), myriad.BilinearCodes(n_bits=8), myriad.ScalarQuantizer()],
)
def test_learns_from_a_store(quantizer, tmp_path):
    store = write_store(tmp_path / "s")
    fitted = quantizer.fit(store)
    rows = store.rows("train")
    X, labels = rows.read(np.arange(rows.n_rows)), rows.labels
    if isinstance(quantizer, myriad.SignBits):
        again = clone(quantizer).fit(X[labels >= 0], labels[labels >= 0])
        np.testing.assert_array_equal(again.code_.chosen, fitted.code_.chosen)
    blocks = np.concatenate(list(fitted.encode_blocks(store)))
    np.testing.assert_array_equal(blocks, fitted.encode(store.rows().read(np.arange(store.n_rows))))
    with pytest.raises(myriad.InputError, match="already encoded"):
        quantizer.fit(write_store(tmp_path / "pq", kind="pq"))


def test_a_loaded_code_must_be_whole(tmp_path):
    X, y = make_rows()
    folder = tmp_path / "code"
    myriad.SignBits(n_bits=8).fit(X, y).save(folder)
    content = (folder / "code.safetensors").read_bytes()
    (folder / "code.safetensors").write_bytes(content[:-1] + b"\x01")
    with pytest.raises(myriad.InputError, match="damaged"):
        myriad.SignBits.load(folder)
    (folder / "code.safetensors").unlink()
    with pytest.raises(myriad.InputError, match="missing"):
        myriad.SignBits.load(folder)
    (folder / "code.json").write_text("{}")
    with pytest.raises(myriad.InputError, match="newer"):
        myriad.SignBits.load(folder)
    with pytest.raises(myriad.InputError, match="does not exist"):
        myriad.SignBits.load(tmp_path / "none")


def test_refuses_labels_that_do_not_fit():
    X, y = make_rows()
    with pytest.raises(myriad.InputError, match="as many labels"):
        myriad.SignBits().fit(X, y[:-1])
    with pytest.raises(myriad.InputError, match="mutual information"):
        myriad.SignBits(n_bits=8).fit(X)


@pytest.mark.parametrize("shape", [(0, DIM), (N, 0), (0, 0)])
def test_empty_rows_are_refused(fitted, shape):
    X = np.zeros(shape, np.float32)
    for labels in (None, np.zeros(len(X), int)):
        with pytest.raises(myriad.InputError):
            clone(fitted).fit(X, labels)
    if shape[1] != DIM:
        for code in (fitted.encode, lambda rows: list(fitted.encode_blocks(rows))):
            with pytest.raises(myriad.InputError, match="features"):
                code(X)


def test_only_codes_of_this_code_are_decoded(fitted):
    codes = fitted.encode(make_rows()[0])
    wrong = [codes[:, :-1], np.hstack([codes, codes]), codes[0], codes.astype(int), codes.tolist()]
    for some in wrong:
        with pytest.raises(myriad.InputError, match="Codes must be uint8"):
            fitted.decode(some)
    expected = fitted.decode(codes)
    np.testing.assert_allclose(fitted.decode(codes[::-1]), expected[::-1], atol=1e-5)
    np.testing.assert_allclose(fitted.decode(np.asfortranarray(codes)), expected, atol=1e-5)
    assert fitted.decode(codes[:0]).shape == (0, expected.shape[1])
    assert np.isfinite(fitted.decode(np.full_like(codes, 255))).all()


def test_hadamard_is_the_name_of_turned():
    X, y = make_rows()
    codes = [
        myriad.SignBits(n_bits=16, **options).fit(X, y).encode(X)
        for options in ({"hadamard": True}, {"turned": True}, {"turned": True, "hadamard": False})
    ]
    np.testing.assert_array_equal(codes[0], codes[1])
    assert (codes[0] != codes[2]).any()
