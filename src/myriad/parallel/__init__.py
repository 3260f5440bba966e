"""Work over shards in our own threads, with BLAS held to one thread inside."""

from myriad.parallel.threads import map_ordered, pool, thread_count

__all__ = ["map_ordered", "pool", "thread_count"]
