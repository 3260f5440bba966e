import json
from pathlib import Path

import numpy as np
import pytest

from myriad.cli.text import (
    format_amount,
    format_bytes,
    format_days,
    format_rate,
    format_seconds,
    format_settings,
    parse_bytes,
    printable,
    to_line,
    to_plain,
)
from myriad.errors import InputError


def test_settings_are_written_as_people_write_them():
    settings = {"eta": 0.1234567, "beta": 8.0, "lam": 1e-5, "scale": False, "center": True, "k": 5}
    expected = "eta 0.123457, beta 8, lam 1e-05, scale no, center yes, k 5"
    assert format_settings(settings | {"loss": None}) == f"{expected}, loss none"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain name.jpg", "plain name.jpg"),
        ("Übergröße 猫 é.jpg", "Übergröße 猫 é.jpg"),
        ("narrow\u202fspace", "narrow\u202fspace"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x1b[2J\x07\x9b", r"\x1b[2J\x07\x9b"),
        ("half \udcff", r"half \udcff"),
        ("gpj.\u202eexe\u2028", r"gpj.\u202eexe\u2028"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        (12, "12"),
    ],
)
def test_printable(name, expected):
    assert printable(name) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.04, "0.0 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (4, "4 s"),
        (59.6, "1 min 00 s"),
        (185.2, "3 min 05 s"),
        (7620, "2 h 07 min"),
        (360000, "100 h 00 min"),
    ],
)
def test_seconds(seconds, expected):
    assert format_seconds(seconds) == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (3_420_000, "3.42 MB"),
        (34_200_000, "34.2 MB"),
        (999_900, "1.00 MB"),
        (342_000_000, "342 MB"),
        (1.1e12, "1.10 TB"),
        (5e15, "5,000 TB"),
    ],
)
def test_bytes(size, expected):
    assert format_bytes(size) == expected


def test_amounts_and_rates():
    assert format_amount(1200, 9000, "images") == "1,200 of 9,000 images"
    assert format_amount(1200) == "1,200"
    assert format_amount(1, unit="images") == "1 image"
    assert format_amount(0, 1, "patches") == "0 of 1 patch"
    assert format_rate(1234.5, "rows") == "1,234 rows/s"
    assert format_rate(4.24, "rows") == "4.2 rows/s"
    assert format_rate(0.05, "") == "0.05/s"


@pytest.mark.parametrize(
    ("text", "size"),
    [("16GB", 16 * 10**9), ("1.5 tb", 15 * 10**11), ("512MiB", 512 << 20), ("800", 800)],
)
def test_sizes_are_read(text, size):
    assert parse_bytes(text, "--memory") == size


@pytest.mark.parametrize("text", ["", "GB", "0GB", "-1GB", "1e3", "16 GBs", "9" * 40 + "TB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InputError, match="--memory must be a size such as"):
        parse_bytes(text, "--memory")


def test_long_times_are_days():
    assert format_days(100) == "1 min 40 s"
    assert format_days(11.42 * 86400) == "11.4 days"


def test_plain_values():
    content = {
        "path": Path("a") / "b",
        1: (np.float32(0.5), np.int64(3), np.bool_(True)),
        "array": np.array([[1.0, np.nan]]),
        "far": [float("inf"), np.float64("-inf")],
    }
    assert to_plain(content) == {
        "path": "a/b",
        "1": [0.5, 3, True],
        "array": [[1.0, None]],
        "far": [None, None],
    }


def test_line_is_ascii_and_keeps_every_name():
    names = ["猫", "a\nb", "\x1b[31m", "half \udcff", '"quoted"', "\u2028"]
    line = to_line({"names": names})
    assert line.isascii()
    assert "\n" not in line
    assert json.loads(line) == {"names": names}
