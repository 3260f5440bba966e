"""Work over shards in our own threads and processes, with BLAS held to one thread inside."""

from myriad.parallel.cluster import ClusterMapper, open_cluster
from myriad.parallel.mapping import LocalMapper, Mapper, open_local
from myriad.parallel.places import Place
from myriad.parallel.processes import ProcessMapper, open_processes
from myriad.parallel.shared import SharedArray, share_array
from myriad.parallel.team import Promise, Team, team
from myriad.parallel.threads import map_ordered, pool, thread_count

__all__ = [
    "ClusterMapper",
    "LocalMapper",
    "Mapper",
    "Place",
    "ProcessMapper",
    "Promise",
    "SharedArray",
    "Team",
    "map_ordered",
    "open_cluster",
    "open_local",
    "open_processes",
    "pool",
    "share_array",
    "team",
    "thread_count",
]
