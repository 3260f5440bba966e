"""A map of classes: the prototypes of an embedding, projected to two dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from myriad.report.evidence import MapPoint
from myriad.report.plots.axes import Axis
from myriad.report.plots.canvas import Canvas
from myriad.report.wording import show_count

MOST_NAMED = 60
LONGEST_NAME = 18
BARE = Axis(-4.0, 104.0, ())
APART = 6.0
LETTER = 8.5
"""The width of a letter, about."""


def plot_class_map(places: Sequence[MapPoint]) -> Markup | None:
    """Draw a dot for each class, and its name where there is room for it."""
    if len(places) < 3:
        return None
    canvas = Canvas(BARE, BARE, x_title="", y_title="", width=760, height=560)
    canvas.add_dots(((place.x, place.y, place.name) for place in places), "cloud", 3.0)
    named: list[MapPoint] = []
    for place in places:
        if len(named) == MOST_NAMED:
            break
        if all(abs(place.x - o.x) > 2 * APART or abs(place.y - o.y) > APART / 2 for o in named):
            across, down = canvas.place(place.x, place.y)
            name = place.name
            short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
            fits = across + 5 + LETTER * len(short) < canvas.width
            at, side = (across + 5, "start") if fits else (across - 5, "end")
            canvas.add("text", short, x=at, y=down + 4, text_anchor=side, class_="tick")
            named.append(place)
    return canvas.render(
        f"Map of {show_count(len(places))} classes by the two main directions of their prototypes."
    )
