"""What of the output on a page must be printed again, and what may differ between machines."""

import pytest

from tests.docs.comparison import TOLERANCE, fits, mask, match


@pytest.mark.parametrize(
    ("shown", "found", "expected"),
    [
        (["12 rows, 3.5 s"], ["12 rows, 1 min 25 s"], True),
        (["a (0.78)  b (-1.41)"], ["x (1.2)    y (-0.3)"], True),
        (["12 rows"], ["12 columns"], False),
        (["one", "..."], ["one", "two", "three"], True),
        (["...", "three"], ["one", "two", "three"], True),
        (["...", "four"], ["one", "two", "three"], False),
        (["one"], ["one", "two"], False),
        (["one", "two"], ["one"], False),
        (
            ["Objective  Top-1", "ovr 89.50", "auc 80.00", ""],
            ["Objective Top-1", "auc 83.00", "ovr 82.00", ""],
            True,
        ),
        (
            ["Objective  Top-1", "ovr 89.50", "auc 50.00"],
            ["Objective Top-1", "auc 89.00", "ovr 50.00"],
            False,
        ),
        (["Objective  Top-1", "ovr 9", "auc 8"], ["Objective  Top-1", "auc 8", "warp 9"], False),
        (["Objective  Top-1", "ovr 9", "auc 8"], ["Objective  Top-1", "auc 8"], False),
        (["One  Two", "ovr 9", "auc 8"], ["One  Two", "auc 8", "ovr 9"], False),
    ],
)
def test_lines_fit_or_do_not(shown: list[str], found: list[str], expected: bool) -> None:
    assert (match(shown, found) is not None) is expected


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("Model size  9.83 MB", "Model size  10.1 kB"),
        ('  "label": "a",', '  "label": "b",'),
        ("Epochs      3", "Epochs      12"),
        ('    "epochs": 3,', '    "epochs": 12,'),
        (
            "eta 0.332, beta 8.0, lam 0.0, scale True, seed 0",
            "eta 1, beta all, lam 1, scale False, seed 0",
        ),
        ('    "beta": 8.0,', '    "beta": "all",'),
        ('    "scale": true,', '    "scale": false,'),
        ("{'eta': 0.1, 'beta': 1.0, 'scale': False}", "{'eta': 2, 'beta': 'all', 'scale': True}"),
        (
            "grid   8  0.3  0  hinge  yes  fixed  77.50  87.90  5  0.4 s",
            "grid  all  1  1e-05  hinge  no  fixed  78.00  89.00  7  1 min 03 s  best",
        ),
        (
            "ovr  87.50  97.92  87.50  97.92  0.5 s  6  eta 1.11, beta all, scale False",
            "ovr  85.42  95.83  85.42  95.83  1.5 s  11  eta 3, beta 8.0, scale True",
        ),
        ("means      64.58   83.33     0.2 s       1", "means      66.67   83.33     1 s       2"),
        (
            "  myriad train a --out B --objective ovr --beta all --scale yes --lam 1e-05",
            "  myriad train a --out B --objective ovr --beta 8 --schedule lam --epochs 7",
        ),
        ("  myriad evaluate compared/ovr DATA", "  myriad evaluate compared/softmax DATA"),
        ("new/1.jpg,1,a,0.71", "new/1.jpg,1,e,-0.2"),
        ("extract  4 min 33 s  20.5 MB", "extract  2 h 07 min  1,000 B"),
        ("Workers      2", "Workers      64"),
        ("Matrix products  41.3 billion multiply-adds", "Matrix products  9 billion multiply-adds"),
        ("use rows of at most 79,063 features", "use rows of at most 81,000 features"),
        ('    "error": 0.000382,', '    "error": 4e-05,'),
        ('    "seconds": 0.25', '    "seconds": 63.012'),
    ],
)
def test_what_differs_between_machines_is_masked(shown: str, found: str) -> None:
    assert fits(shown, found)


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("True True", "True False"),
        ("eta 0.3, beta 8.0, scale True", "eta 0.3, scale True"),
        (
            "lam, fixed rate  8  0.3  0  hinge  yes  fixed",
            "lam, fixed rate  8  0.3  0  hinge  yes  lam",
        ),
        (
            "  myriad train a --out B --objective ovr --beta 8",
            "  myriad train a --out B --objective ovr",
        ),
        ("  myriad evaluate small DATA", "  myriad evaluate large DATA"),
        ("new/1.jpg,1,a,0.71", "new/1.jpg,1,a"),
        ("new/1.jpg,1,a,0.71", "new/1.jpg,2,a,0.71"),
    ],
)
def test_words_that_no_rounding_changes_are_compared(shown: str, found: str) -> None:
    assert mask(shown) != mask(found)


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("48 validation images, 24 classes", "48 validation images, 25 classes"),
        ("Rows         456", "Rows         455"),
        ("Features     8,192", "Features     8,193"),
        ("Bytes per row  1,024", "Bytes per row  2,048"),
        ('    "n": 120,', '    "n": 121,'),
        ('    "dim": 8192,', '    "dim": 4096,'),
        ("(500, 3) (500, 3)", "(500, 3) (500, 4)"),
        ("shard-00010.arrow", "shard-00011.arrow"),
        ("Ratio        64.00", "Ratio        65.00"),
        ('    "ratio": 4.0,', '    "ratio": 8.0,'),
        ("Error: 1 of 21 images is bad", "Error: 2 of 21 images are bad"),
    ],
)
def test_counts_are_compared_exactly(shown: str, found: str) -> None:
    assert fits(shown, shown)
    assert not fits(shown, found)


@pytest.mark.parametrize(
    "line",
    [
        "over samples       {:.2f}  97.92",
        "mean over classes  87.50   {:.2f}",
        "Class-confusion loss  {:.2f} %",
        '    "top1": {},',
        '    "class_top5": {}',
        '        "10": {}',
        "{:.1f} % top-1 over samples",
        "{:.0f} % top-5",
        "grid   8  0.3  0  hinge  yes  fixed  {:.2f}  87.90  5  0.4 s",
        "bits    32.00          256  {:.2f}   97.50              65.83   1.7 s     0.2 s",
    ],
)
def test_accuracies_are_compared_within_the_tolerance(line: str) -> None:
    assert fits(line.format(70.0), line.format(70.0 + TOLERANCE))
    assert fits(line.format(70.0), line.format(70.0 - TOLERANCE))
    assert not fits(line.format(70.0), line.format(71.0 + TOLERANCE))
    assert not fits(line.format(70.0), line.format(69.0 - TOLERANCE))
