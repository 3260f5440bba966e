"""Models of coded rows: plain rows are coded first, coded rows are not, other codes are refused."""

import numpy as np
import pytest

from myriad.codes import learn_bilinear, learn_bits, learn_chosen, learn_product
from myriad.errors import InputError
from myriad.models import (
    CodedModel,
    LinearModel,
    ModelFolder,
    load_model,
    make_plain,
    match_rows,
    save_model,
)

DIM, CLASSES = 24, 4
ROWS = np.random.default_rng(0).standard_normal((50, DIM)).astype(np.float32)
INFORMATION = np.random.default_rng(1).random(DIM)
CODES = {
    "bits": learn_bits(ROWS, n_bits=16, information=INFORMATION),
    "all bits": learn_bits(ROWS, information=INFORMATION),
    "bilinear": learn_bilinear(ROWS, n_bits=8),
    "chosen": learn_chosen(ROWS, count=5, information=INFORMATION),
}


def make_model(dim):
    rng = np.random.default_rng(2)
    weights = rng.standard_normal((CLASSES, dim)).astype(np.float32)
    return LinearModel(weights, rng.standard_normal(CLASSES).astype(np.float32))


@pytest.mark.parametrize("name", CODES)
def test_plain_rows_are_coded_first(name):
    code = CODES[name]
    inner = make_model(code.decoded_dim)
    model = make_plain(inner, code)
    assert isinstance(model, CodedModel)
    assert (model.dim, model.n_classes) == (DIM, CLASSES)
    decoded = code.decode(code.encode(ROWS))
    np.testing.assert_array_equal(model.scores(ROWS), inner.scores(decoded))
    np.testing.assert_allclose(
        model.scores_of(ROWS, slice(1, 3)), inner.scores(decoded)[:, 1:3], rtol=1e-5
    )
    np.testing.assert_array_equal(model.rank(ROWS, 2)[0], inner.rank(decoded, 2)[0])
    unrounded = CodedModel(code, inner, rounded=False)
    np.testing.assert_array_equal(unrounded.scores(ROWS), inner.scores(code.project(ROWS)))


@pytest.mark.parametrize("name", CODES)
def test_rows_of_a_store_meet_the_right_model(name):
    code = CODES[name]
    inner = make_model(code.decoded_dim)
    assert match_rows(make_plain(inner, code), code, "s") is inner
    assert match_rows(make_plain(inner, code), None, "s").dim == DIM
    plain = make_model(DIM)
    decoded = code.decode(code.encode(ROWS))
    expanded = match_rows(plain, code, "s")
    assert (expanded.dim, expanded.n_classes) == (code.decoded_dim, CLASSES)
    np.testing.assert_array_equal(expanded.scores(decoded), plain.scores(code.expand(decoded)))
    other = learn_bits(ROWS, n_bits=16, information=INFORMATION[::-1])
    with pytest.raises(InputError, match="another code"):
        match_rows(make_plain(inner, code), other, "s")


def test_codes_that_restore_rows_need_not_be_repeated():
    code = learn_product(ROWS, d=4, bits=3)
    model = make_model(DIM)
    assert make_plain(model, code) is model
    assert make_plain(model, None) is model
    assert match_rows(model, code, "s") is model


def test_is_kept_in_a_model_folder(tmp_path):
    model = make_plain(make_model(16), CODES["bits"])
    names = [str(c) for c in range(CLASSES)]
    save_model(tmp_path / "m", ModelFolder(model, names, None, {}), card="")
    loaded = load_model(tmp_path / "m").model
    np.testing.assert_array_equal(loaded.scores(ROWS), model.scores(ROWS))


def test_refuses_parts_that_do_not_fit():
    with pytest.raises(InputError, match="16 features does not fit a model of 24"):
        CodedModel(CODES["bits"], make_model(DIM))
    with pytest.raises(InputError, match="must be of the type Code, not LinearModel"):
        CodedModel(make_model(DIM), make_model(DIM))
    with pytest.raises(InputError, match="of the type bool"):
        CodedModel(CODES["bits"], make_model(16), rounded="no")
