import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from myriad.checks.components import Components, join_equal, join_pairs


def test_groups_are_those_of_scipy():
    draws = np.random.default_rng(0)
    for n_pairs in (0, 10, 40, 200):
        pairs = draws.integers(0, 100, (n_pairs, 2))
        graph = coo_array((np.ones(n_pairs), pairs.T), shape=(100, 100))
        _, expected = connected_components(graph, directed=False)
        roots = join_pairs(map(tuple, pairs.tolist()), 100).roots()
        assert len(np.unique(roots)) == len(np.unique(expected))
        assert len(np.unique(np.stack([roots, expected]), axis=1).T) == len(np.unique(expected))


def test_a_group_is_named_by_its_lowest_item():
    components = Components(6)
    components.join(5, 3)
    components.join(3, 1)
    components.join(4, 2)
    assert components.roots().tolist() == [0, 1, 2, 1, 2, 1]
    assert components.groups() == [[1, 3, 5], [2, 4]]


def test_items_of_equal_keys_are_joined():
    assert join_equal(["a", "b", None, "a", None], 5).groups() == [[0, 3]]
