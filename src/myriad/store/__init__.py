"""Stores: rows, labels, class names and the recipe on disk, read as shuffled blocks of rows."""

from myriad.store.counting import feature_information, rows_at_a_time
from myriad.store.rows import ArrayRows, Block, Rows, check_scale, sample_rows, with_features
from myriad.store.shards import shard_rows
from myriad.store.shared_rows import LocalRows, SharedRows, open_rows, share_rows, state_of
from myriad.store.sparse import SparseRows, as_csr
from myriad.store.store import Store, StoreRows, is_store, training_rows
from myriad.store.views import (
    BalancedRows,
    CentredRows,
    ProjectedRows,
    ScaledRows,
    feature_means,
    feature_squares,
    is_uneven,
    unit_variance,
)
from myriad.store.writing import StoreWriter, holds_only_store

__all__ = [
    "ArrayRows",
    "BalancedRows",
    "Block",
    "CentredRows",
    "LocalRows",
    "ProjectedRows",
    "Rows",
    "ScaledRows",
    "SharedRows",
    "SparseRows",
    "Store",
    "StoreRows",
    "StoreWriter",
    "as_csr",
    "check_scale",
    "feature_information",
    "feature_means",
    "feature_squares",
    "holds_only_store",
    "is_store",
    "is_uneven",
    "open_rows",
    "rows_at_a_time",
    "sample_rows",
    "shard_rows",
    "share_rows",
    "state_of",
    "training_rows",
    "unit_variance",
    "with_features",
]
