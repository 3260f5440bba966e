"""An SVG drawing with two axes, made from values; all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from myriad.report.plots.axes import Axis

Point = tuple[float, float]


def element(tag: str, content: str | Markup = "", **attributes: str | float) -> Markup:
    """Return an SVG element; ``class_`` becomes ``class``, and ``_`` in attribute names a dash."""
    parts = []
    for name, value in attributes.items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        parts.append(Markup(' {}="{}"').format(Markup(name.strip("_").replace("_", "-")), shown))
    name = Markup(tag)
    return Markup("<{}{}>{}</{}>").format(name, Markup("").join(parts), content, name)


class Canvas:
    """A plot of `width` x `height` units, its frame drawn, ready for marks.

    Parameters
    ----------
    x, y : the axes; x runs to the right, y upwards.
    x_title, y_title : what the axes mean, with the unit.
    """

    left, right, top, bottom = 50.0, 16.0, 30.0, 46.0

    def __init__(
        self,
        x: Axis,
        y: Axis,
        *,
        x_title: str,
        y_title: str,
        width: int = 480,
        height: int = 300,
    ) -> None:
        self.x, self.y = x, y
        self.width, self.height = width, height
        self._parts: list[Markup] = []
        self._draw_frame(x_title, y_title)

    def locate(self, x: float, y: float) -> Point:
        """Return the position of the value (x, y) in the drawing."""
        across = self.width - self.left - self.right
        up = self.height - self.top - self.bottom
        return (
            self.left + across * self.x.locate(x),
            self.height - self.bottom - up * self.y.locate(y),
        )

    def add(self, tag: str, content: str | Markup = "", **attributes: str | float) -> None:
        """Add any element, in units of the drawing."""
        self._parts.append(element(tag, content, **attributes))

    def add_line(self, values: Sequence[Point], kind: str) -> None:
        """Add a line through values (x, y)."""
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.locate(*value) for value in values))
        self.add("polyline", points=points, class_=f"line {kind}")

    def add_dots(
        self, values: Iterable[tuple[float, float, str]], kind: str, radius: float
    ) -> None:
        """Add a dot for each value (x, y, tooltip)."""
        for x, y, tip in values:
            across, down = self.locate(x, y)
            self.add("circle", cx=across, cy=down, r=radius, class_=f"dot {kind}", data_tip=tip)

    def add_key(self, entries: Sequence[tuple[str, str]]) -> None:
        """Add a legend above the plot: pairs of a kind of mark and its name."""
        across = self.left
        for kind, name in entries:
            self.add("circle", cx=across + 5, cy=12.0, r=5.0, class_=f"dot {kind}")
            self.add("text", name, x=across + 15, y=16.5, class_="key")
            across += 15 + 9.4 * len(name) + 16

    def add_remark(self, text: str) -> None:
        """Add a remark above the plot, at its right end."""
        self.add("text", text, x=self.width - self.right, y=16.5, text_anchor="end", class_="note")

    def render(self, description: str) -> Markup:
        """Return the SVG; `description` is its text for screen readers."""
        return element(
            "svg",
            Markup("").join(self._parts),
            viewBox=f"0 0 {self.width} {self.height}",
            role="img",
            class_="plot",
            aria_label=description,
        )

    def _draw_frame(self, x_title: str, y_title: str) -> None:
        foot = self.height - self.bottom
        for value, label in self.y.ticks:
            x0, down = self.locate(self.x.low, value)
            end = self.width - self.right
            self.add("line", x1=x0, x2=end, y1=down, y2=down, class_="grid")
            self.add("text", label, x=x0 - 7, y=down + 4, text_anchor="end", class_="tick")
        for value, label in self.x.ticks:
            across, _ = self.locate(value, self.y.low)
            self.add("line", x1=across, x2=across, y1=foot, y2=foot + 4, class_="axis")
            self.add("text", label, x=across, y=foot + 18, text_anchor="middle", class_="tick")
        x1 = self.width - self.right
        self.add("line", x1=self.left, x2=x1, y1=foot, y2=foot, class_="axis")
        self.add("text", x_title, x=x1, y=self.height - 7.0, text_anchor="end", class_="title")
        self.add("text", y_title, x=1.0, y=16.5, class_="title")
