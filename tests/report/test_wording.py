from __future__ import annotations

import pytest
from scipy.stats import binomtest

from myriad.report.wording import (
    find_interval,
    plural,
    show_bytes,
    show_name,
    show_number,
    show_percent,
    show_seconds,
    show_time,
)


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (1, 3), (71, 100), (640, 900)])
def test_interval_is_wilsons(right: int, n: int) -> None:
    expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
    low, high = find_interval(100 * right / n, n)
    assert low == pytest.approx(100 * expected.low, abs=1e-5)
    assert high == pytest.approx(100 * expected.high, abs=1e-5)


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (show_percent(71.25), "71.2 %"),
        (show_percent(99.96), "99.9 %"),
        (show_percent(99.7, 0), "99 %"),
        (show_percent(100), "100 %"),
        (show_percent(None), "–"),
        (show_bytes(0), "0 bytes"),
        (show_bytes(123_456), "123 kB"),
        (show_bytes(999_999), "1 MB"),
        (show_bytes(12_345_678), "12.3 MB"),
        (show_seconds(3.21), "3.2 s"),
        (show_seconds(65), "65 s"),
        (show_seconds(245), "4 min 5 s"),
        (show_seconds(7800), "2 h 10 min"),
        (show_number(12_500), "12,500"),
        (show_number(0.12345), "0.1235"),
        (show_number("auto"), "auto"),
        (show_number(True), "yes"),
        (plural(1, "class", "classes"), "1 class"),
        (plural(2000, "class", "classes"), "2,000 classes"),
        (show_time("2026-11-15T12:00:00Z"), "15 November 2026, 12:00 UTC"),
        (show_time("yesterday"), "yesterday"),
    ],
)
def test_numbers_read_well(shown: str, expected: str) -> None:
    assert shown.replace("\u00a0", " ") == expected


def test_names_may_be_broken_after_underscores_and_stay_text() -> None:
    assert show_name("n01_<b>_x") == "n01_<wbr>&lt;b&gt;_<wbr>x"
    assert show_name("runner_up.eta") == "runner_<wbr>up.<wbr>eta"
    assert show_name("heron") == "heron"
