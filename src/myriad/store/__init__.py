"""Rows, labels, names and their recipe on disk; shuffled blocks of rows out."""

from myriad.store.rows import ArrayRows, Block, Rows
from myriad.store.shards import shard_rows
from myriad.store.store import Store, StoreRows, is_store
from myriad.store.writing import StoreWriter, holds_only_store

__all__ = [
    "ArrayRows",
    "Block",
    "Rows",
    "Store",
    "StoreRows",
    "StoreWriter",
    "holds_only_store",
    "is_store",
    "shard_rows",
]
