"""Gauges: norms that are sums over atoms.

This module is the registry of their names. It imports no gauge, because the help of the command is
built from the names.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from myriad.training.trace.gauges.gauge import Gauge


class GaugeEntry(NamedTuple):
    """A gauge as the registry lists it.

    Attributes
    ----------
    description : what a small gauge makes of the weights, for the help of the command.
    location : the module and the class, separated by a colon.
    """

    description: str
    location: str


GAUGES = {
    "trace": GaugeEntry("low rank", "myriad.training.trace.gauges.trace:TraceNorm"),
    "l1": GaugeEntry("few weights", "myriad.training.trace.gauges.features:L1"),
    "l1_l2": GaugeEntry("few features", "myriad.training.trace.gauges.features:L1L2"),
}
"""The gauges by name: a new one is one line here."""


def make_gauge(name: str) -> Gauge:
    """Return the gauge of this name."""
    gauge: Gauge = resolve_name(GAUGES[name].location)()
    return gauge
