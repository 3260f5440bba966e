"""Gauges: norms that are sums over atoms, one a file."""

from myriad.training.trace.gauges.gauge import Atoms, Chart, Gauge
from myriad.training.trace.gauges.l1 import Entries
from myriad.training.trace.gauges.l1_l2 import FeatureRows
from myriad.training.trace.gauges.trace import Trace

GAUGES: dict[str, Gauge] = {"trace": Trace(), "l1": Entries(), "l1_l2": FeatureRows()}
"""The gauges by name: a new one is one line here."""

__all__ = ["GAUGES", "Atoms", "Chart", "Gauge"]
