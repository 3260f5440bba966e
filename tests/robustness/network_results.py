"""Results of networks that are kept, so that jobs which run a network can be repeated quickly.

A job with a single fault is run again and again on the same images, and a network gives the same
result each time. The calls of the file system, where the faults are, do not change.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from myriad.signatures.networks import efficientnet, sessions

Results = dict[tuple[str, tuple[str, ...], bytes], list[Any]]


class KeptResults:
    """A session of ONNX Runtime that computes the result of each input once.

    Parameters
    ----------
    results : by the graph, the names of outputs and the input; may be shared by sessions.
    """

    def __init__(self, graph: bytes, results: Results) -> None:
        self._session = _start_session(graph)
        self._graph = hashlib.sha256(graph).hexdigest()
        self._results = results

    def get_inputs(self) -> Any:
        return self._session.get_inputs()

    def run(self, names: list[str], inputs: dict[str, Any]) -> list[Any]:
        (array,) = inputs.values()
        key = self._graph, tuple(names), array.tobytes()
        if key not in self._results:
            self._results[key] = self._session.run(names, inputs)
        return [result.copy() for result in self._results[key]]


_start_session = sessions.start_session


@contextmanager
def keeping_network_results() -> Iterator[None]:
    """Within the context, build each network once and run it once for each image."""
    results: Results = {}
    with (
        mock.patch.object(sessions, "start_session", lambda graph: KeptResults(graph, results)),
        mock.patch.object(
            efficientnet, "make_efficientnet", functools.cache(efficientnet.make_efficientnet)
        ),
    ):
        yield
