"""Product codes against their plain twin and against faiss."""

from contextlib import contextmanager
from dataclasses import replace

import faiss
import numpy as np
import pytest

from myriad.codes import ProductCode, learn_product
from myriad.codes.codebooks import learn_codebook
from myriad.codes.packing import pack, packed_bytes, unpack
from myriad.codes.product import _gather_interleaved, interleave
from myriad.errors import InputError
from myriad.parallel import LearningContext
from myriad.progress import Progress
from myriad.serialisation import flatten, restore
from tests.posting import open_posting
from tests.reference import product as plain


def make_code(n_books, bits, d, dim, seed=0):
    rng = np.random.default_rng(seed)
    return ProductCode(rng.standard_normal((n_books, 2**bits, d)).astype(np.float32), dim)


def make_rows(n, dim, seed=1):
    return np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)


def unpacked(code, codes):
    return unpack(codes, code.bits, code.n_sub)


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize(
    ("d", "dim", "n_books"), [(8, 64, 8), (8, 64, 2), (4, 22, 6), (3, 29, 4), (1, 5, 5)]
)
def test_agrees_with_the_plain_twin(bits, d, dim, n_books):
    code = make_code(n_books, bits, d, dim)
    rows = make_rows(40, dim)
    codes = code.encode(rows)
    expected = plain.assign(rows, code.codebooks)
    np.testing.assert_array_equal(codes, plain.pack(expected, bits))
    np.testing.assert_array_equal(code.decode(codes), plain.look_up(expected, code.codebooks, dim))
    assert code.bytes_per_row == -(-code.n_sub * bits // 8)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("d", [8, 16])
def test_chosen_centroid_is_nearest_up_to_rounding(scale, d):
    code = make_code(4, 8, d, 4 * d)
    code = ProductCode(code.codebooks * np.float32(scale), code.dim)
    rows = make_rows(500, code.dim) * np.float32(scale)
    squares = plain.distances(rows, code.codebooks)
    chosen = np.take_along_axis(squares, code.encode(rows)[:, :, None].astype(int), axis=2)[..., 0]
    norms = (plain.subvectors(rows, d) ** 2).sum(axis=2)
    assert (chosen - squares.min(axis=2) <= 2e-6 * (norms + scale**2 * d)).all()


@pytest.mark.parametrize("d", [4, 8])
@pytest.mark.parametrize("sign", [1, -1])
def test_ties_go_to_the_lowest_index(d, sign):
    books = np.zeros((2, 16, d), np.float32)
    books[:, :3] = 100.0
    books[1, 5:] = sign
    code = ProductCode(books, 2 * d)
    rows = np.full((3, 2 * d), 2.0 * sign, np.float32)
    np.testing.assert_array_equal(unpacked(code, code.encode(rows)), [[3, 5]] * 3)


@pytest.mark.parametrize("bits", [4, 8])
def test_agrees_with_faiss(bits):
    dim, d = 96, 8
    code = make_code(dim // d, bits, d, dim)
    rows = make_rows(700, dim)
    theirs = faiss.ProductQuantizer(dim, dim // d, bits)
    faiss.copy_array_to_vector(code.codebooks.ravel(), theirs.centroids)
    codes = code.encode(rows)
    np.testing.assert_array_equal(codes, theirs.compute_codes(rows))
    np.testing.assert_array_equal(code.decode(codes), theirs.decode(codes))


def test_error_falls_with_bits_and_is_near_that_of_faiss():
    rows = make_rows(1500, 32)
    errors = []
    for bits in range(1, 9):
        code = learn_product(rows, bits=bits)
        errors.append(np.mean((rows - code.decode(code.encode(rows))) ** 2))
        theirs = faiss.ProductQuantizer(32, 4, bits)
        theirs.cp.min_points_per_centroid = 1
        theirs.train(rows)
        expected = np.mean((rows - theirs.decode(theirs.compute_codes(rows))) ** 2)
        assert errors[-1] < 1.03 * expected
    assert (np.diff(errors) < -0.01).all()


@pytest.mark.parametrize("d", [5, 8])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_codebook_agrees_with_the_plain_twin(d, rounds):
    points = make_rows(400, d)
    expected = plain.k_means(points, 8, rounds=rounds)
    np.testing.assert_allclose(learn_codebook(points, 8, rounds=rounds), expected, atol=1e-4)


@pytest.mark.parametrize("spread", [0.0, 1.5])
def test_five_rounds_are_as_good_as_twelve_of_faiss(spread):
    """Also where the points are of very different size, as in Fisher vectors."""
    points = make_rows(4000, 8)
    points *= np.exp(spread * make_rows(4000, 1, seed=7))
    theirs = faiss.Kmeans(8, 64, niter=12, min_points_per_centroid=1, max_points_per_centroid=99)
    theirs.train(points, init_centroids=points[:64].copy())
    books = learn_codebook(points, 64, rounds=5), theirs.centroids
    ours, expected = (plain.distances(points, book[None]).min(axis=2).mean() for book in books)
    assert ours < 1.01 * expected


def test_an_empty_centroid_moves_to_the_worst_point():
    points = np.zeros((20, 2), np.float32)
    points[17], points[18] = (5, 5), (-9, 3)
    book = learn_codebook(points, 4, rounds=5)
    for point in points:
        assert (book == point).all(axis=1).any()


@pytest.mark.parametrize("bits", [3, 8])
@pytest.mark.parametrize(("regions", "d"), [(2, 8), (4, 8), (8, 8), (4, 4), (2, 6)])
def test_subvectors_of_all_regions_agree_with_the_plain_twin(bits, regions, d):
    dim = 3 * d * regions
    code = replace(make_code(3, bits, d, dim), regions=regions)
    rows = make_rows(40, dim)
    interleaved = plain.interleave(rows, regions, d)
    np.testing.assert_array_equal(interleave(rows, regions, d), interleaved)
    np.testing.assert_array_equal(interleave(interleaved, regions, d), rows)
    codes = code.encode(rows)
    expected = plain.assign(interleaved, code.codebooks)
    np.testing.assert_array_equal(codes, plain.pack(expected, bits))
    decoded = plain.look_up(expected, code.codebooks, dim)
    np.testing.assert_array_equal(code.decode(codes), plain.interleave(decoded, regions, d))


def test_books_are_learned_from_subvectors_of_all_regions():
    rows = make_rows(300, 64)
    code = learn_product(rows, bits=4, period=16)
    assert code.regions == 4
    assert code.codebooks.shape == (2, 16, 8)
    found = _gather_interleaved(rows, np.arange(1200), range(1, 2), 4, 8)
    expected = plain.interleave(rows, 4, 8).reshape(300, 4, 2, 8)[:, :, 1]
    np.testing.assert_array_equal(found[0], expected.swapaxes(0, 1).reshape(1200, 8))


def test_regions_that_resemble_each_other_have_small_errors():
    rng = np.random.default_rng(5)
    rows = np.tile(rng.standard_normal((300, 16)), (1, 4)).astype(np.float32)
    together, own = (learn_product(rows, bits=4, period=period) for period in (16, None))
    errors = [np.mean((rows - code.decode(code.encode(rows))) ** 2) for code in (together, own)]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize("regions", [0, 2.0, 3, 8])
def test_regions_must_fit(regions):
    with pytest.raises(InputError, match="regions"):
        replace(make_code(2, 8, 8, 64), regions=regions)


def test_codes_of_earlier_versions_have_no_regions():
    assert "regions" not in flatten(make_code(2, 8, 8, 64))[0]
    code = replace(make_code(2, 8, 8, 64), regions=4)
    assert restore(*flatten(code)).regions == 4


@pytest.mark.parametrize(
    ("dim", "d", "period", "n_books"),
    [(24, 8, 12, 3), (20, 8, 10, 3), (64, 8, 32, 4), (64, 8, 64, 8)],
)
def test_number_of_books(dim, d, period, n_books):
    code = learn_product(make_rows(64, dim), bits=2, d=d, period=period)
    assert code.codebooks.shape == (n_books, 4, d)


def test_each_book_learns_from_its_own_places_only():
    rows = np.repeat(np.arange(6, dtype=np.float32)[None], 50, axis=0).repeat(2, axis=1)
    code = learn_product(rows, d=2, bits=2, period=4)
    assert set(np.unique(code.codebooks[0])) == {0.0, 2.0, 4.0}
    assert set(np.unique(code.codebooks[1])) == {1.0, 3.0, 5.0}


def test_same_books_on_any_number_of_threads():
    rows = make_rows(600, 40)
    one, three = (learn_product(rows, bits=6, context=LearningContext(9, t)) for t in (1, 3))
    np.testing.assert_array_equal(one.codebooks, three.codebooks)
    other = learn_product(rows, bits=6, context=LearningContext(10))
    assert (one.codebooks != other.codebooks).any()


def test_same_books_by_workers(tmp_path):
    rows, workers = make_rows(600, 67), open_posting(tmp_path / "shared")
    here = learn_product(rows, d=4, bits=6, context=LearningContext(9))
    there = learn_product(rows, d=4, bits=6, context=LearningContext(9, workers=workers))
    np.testing.assert_array_equal(here.codebooks, there.codebooks)
    assert len(workers.executor.sent) == 9  # of two books each, the last one of one
    assert max(workers.executor.sent) < 40 * 600  # rows stay in the file
    assert list(workers.folder.iterdir()) == []


def test_only_so_many_points_are_used():
    rows = make_rows(12000, 8)
    few = learn_product(rows, bits=8, max_rows_per_centroid=16)
    many = learn_product(rows, bits=8, max_rows_per_centroid=48)
    errors = [np.mean((rows - code.decode(code.encode(rows))) ** 2) for code in (few, many)]
    assert errors[0] > 1.02 * errors[1]


def test_rare_values_among_zeros_are_not_lost():
    rows = np.zeros((400, 8), np.float32)
    rows[:30] = make_rows(30, 8)
    code = learn_product(rows, bits=5, max_rows_per_centroid=100)
    decoded = code.decode(code.encode(rows))
    assert (decoded[30:] == 0).all()
    np.testing.assert_allclose(decoded, rows, atol=1e-6)


def test_progress_counts_books():
    class Counting(Progress):
        totals, done = (), 0

        @contextmanager
        def step(self, title, total=None, unit=""):
            self.totals += (total,)
            yield self.advance

        def advance(self, n):
            self.done += n

    progress = Counting()
    learn_product(make_rows(16, 24), bits=2, context=LearningContext(progress=progress))
    assert progress.totals == (3,)
    assert progress.done == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bits": 0}, "1 to 8 bits"),
        ({"bits": 9}, "1 to 8 bits"),
        ({"d": 0}, "length of a sub-vector"),
        ({"d": 17}, "length of a sub-vector"),
        ({"period": 7}, "period of 7"),
        ({"bits": 8}, "100 sample vectors .* 256 centroids"),
        ({"bits": 8, "period": 8}, "200 sample vectors"),
    ],
)
def test_refuses(options, words):
    with pytest.raises(InputError, match=words):
        learn_product(make_rows(100, 16), **{"bits": 4, **options})


@pytest.mark.parametrize("dim", [0, -1, 2.0, "8", None, True, 7])
def test_refuses_a_dimension_that_does_not_fit(dim):
    books = np.zeros((2, 4, 8), np.float32)
    with pytest.raises(InputError):
        ProductCode(books, dim)


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("count", [1, 2, 7, 8, 33])
def test_packing_round_trip(bits, count):
    rng = np.random.default_rng(bits)
    indices = rng.integers(0, 2**bits, (5, count), dtype=np.uint8)
    packed = np.empty((5, packed_bytes(count, bits)), np.uint8)
    pack(indices, bits, packed)
    np.testing.assert_array_equal(packed, plain.pack(indices, bits))
    np.testing.assert_array_equal(unpack(packed, bits, count), indices)


def test_decodes_into_an_array_at_an_odd_place():
    code = make_code(4, 8, 8, 32)
    codes = code.encode(make_rows(5, 32))
    out = np.empty(5 * 32 + 1, np.float32)[1:].reshape(5, 32)
    np.testing.assert_array_equal(code.decode(codes, out), code.decode(codes))
