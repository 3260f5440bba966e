"""Counts and latencies of the server in the text format of Prometheus.

Nothing here names a label, a file or a user: endpoints are those of the API, and the model is
identified by its checksum.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of a histogram of seconds."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class Histogram:
    """Counts of durations by bucket, and their sum in seconds."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        self.buckets[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


class Metrics:
    """Counters of a server since it started; every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, int], int] = defaultdict(int)
        self._seconds: dict[str, Histogram] = defaultdict(Histogram)
        self._counts = dict.fromkeys(_COUNTERS, 0)

    def record_request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count an answered request; `endpoint` is the path of the API, never that of a user."""
        with self._lock:
            self._requests[endpoint, status] += 1
            self._seconds[endpoint].add(seconds)

    def count(self, name: str, n: int = 1) -> None:
        """Add `n` to one of the counters."""
        with self._lock:
            self._counts[name] += n

    @property
    def n_requests(self) -> int:
        """The number of requests that were answered."""
        with self._lock:
            return sum(self._requests.values())

    def render(self, *, queue: int, checksum: str, n_classes: int) -> str:
        """Return all metrics as text.

        Parameters
        ----------
        queue : images that wait or are being described.
        checksum : of the model's arrays.
        """
        with self._lock:
            requests = sorted(self._requests.items())
            seconds = sorted(self._seconds.items())
            counts = dict(self._counts)
        lines = _declare("myriad_requests_total", "counter", "Requests by endpoint and status.")
        lines += [
            f'myriad_requests_total{{endpoint="{endpoint}",status="{status}"}} {count}'
            for (endpoint, status), count in requests
        ]
        lines += _declare("myriad_request_seconds", "histogram", "Time of a request.")
        for endpoint, histogram in seconds:
            lines += _render_histogram(endpoint, histogram)
        for name, sentence in _COUNTERS.items():
            lines += _declare(f"myriad_{name}_total", "counter", sentence)
            lines.append(f"myriad_{name}_total {counts[name]}")
        lines += _declare("myriad_queue_length", "gauge", "Images that wait or are worked on.")
        lines.append(f"myriad_queue_length {queue}")
        lines += _declare("myriad_model_info", "gauge", "The model that is served.")
        lines.append(f'myriad_model_info{{checksum="{checksum}",classes="{n_classes}"}} 1')
        return "\n".join([*lines, ""])


_COUNTERS = {
    "images": "Images that were described.",
    "bad_images": "Images that could not be read.",
    "rows": "Rows that were scored.",
    "batches": "Batches of rows that were scored together.",
    "refused": "Requests rejected because the queue was full.",
    "feedback": "Images that were kept with a corrected label.",
    "reloads": "Times that the model was replaced on disk and loaded again.",
}


def _declare(name: str, kind: str, sentence: str) -> list[str]:
    return [f"# HELP {name} {sentence}", f"# TYPE {name} {kind}"]


def _render_histogram(endpoint: str, histogram: Histogram) -> list[str]:
    name, lines, below = "myriad_request_seconds", [], 0
    bounds = [f"{bound:g}" for bound in BOUNDS] + ["+Inf"]
    for bound, count in zip(bounds, histogram.buckets, strict=True):
        below += count
        lines.append(f'{name}_bucket{{endpoint="{endpoint}",le="{bound}"}} {below}')
    lines.append(f'{name}_sum{{endpoint="{endpoint}"}} {histogram.total:.6f}')
    lines.append(f'{name}_count{{endpoint="{endpoint}"}} {below}')
    return lines
