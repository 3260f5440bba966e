"""Work over shards in our own threads, with BLAS held to one thread inside."""

from myriad.parallel.team import Team, team
from myriad.parallel.threads import map_ordered, pool, thread_count

__all__ = ["Team", "map_ordered", "pool", "team", "thread_count"]
