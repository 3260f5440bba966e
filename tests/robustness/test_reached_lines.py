"""Lines of the package that were run are counted once."""

from myriad.errors import shorten
from tests.robustness.reached_lines import ReachedLines


def test_each_line_is_counted_once():
    reached, counts = ReachedLines(), []
    for text in ("short", "short", "long" * 1000, "long" * 2000):
        with reached:
            shorten(text)
        counts.append(reached.n)
    shorten("outside")
    assert 0 < counts[0] == counts[1] < counts[2] == counts[3] == reached.n
