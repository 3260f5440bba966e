"""Run tasks on threads, processes or a Dask cluster, with BLAS held to one thread in each."""

from myriad.parallel.cluster import ClusterExecutor, open_cluster
from myriad.parallel.executor import Executor, LocalExecutor, open_local
from myriad.parallel.processes import ProcessExecutor, open_processes, start_method
from myriad.parallel.threads import (
    Lazy,
    ThreadPool,
    map_ordered,
    open_threads,
    thread_count,
    thread_executor,
)
from myriad.parallel.workers import (
    DEFAULT_LEARNING,
    LearningContext,
    SharedArray,
    Workers,
    share_array,
)

__all__ = [
    "DEFAULT_LEARNING",
    "ClusterExecutor",
    "Executor",
    "Lazy",
    "LearningContext",
    "LocalExecutor",
    "ProcessExecutor",
    "SharedArray",
    "ThreadPool",
    "Workers",
    "map_ordered",
    "open_cluster",
    "open_local",
    "open_processes",
    "open_threads",
    "share_array",
    "start_method",
    "thread_count",
    "thread_executor",
]
