from __future__ import annotations

from myriad.report.evidence import ClassRecord
from myriad.report.highlights import choose_extremes


def make_record(name: str, top1: float | None, n: int = 10) -> ClassRecord:
    return ClassRecord(name, 40, n, top1, top1, None, ())


def choose_names(*records: ClassRecord, most: int = 12) -> tuple[str, str]:
    worst, best = choose_extremes(records, most)
    return "".join(item.name for item in worst), "".join(item.name for item in best)


def test_worst_and_best_do_not_overlap() -> None:
    records = [
        make_record(name, top1) for name, top1 in zip("abcde", range(10, 60, 10), strict=True)
    ]
    assert choose_names(*records) == ("abc", "ed")
    assert choose_names(*records, most=1) == ("a", "e")
    assert choose_names(*records[:2]) == ("a", "b")
    assert choose_names(records[0]) == ("a", "")


def test_more_images_go_first_among_equals() -> None:
    records = [make_record("a", 50, 2), make_record("b", 50, 9), make_record("c", 90, 3)]
    records.append(make_record("d", 90, 7))
    assert choose_names(*records) == ("ba", "dc")


def test_perfect_is_not_bad_and_hopeless_is_not_good() -> None:
    perfect = [make_record(name, 100) for name in "abc"]
    hopeless = [make_record(name, 0) for name in "xyz"]
    assert choose_names(*perfect) == ("", "abc")
    assert choose_names(*hopeless) == ("xyz", "")
    assert choose_names(*perfect, hopeless[0]) == ("x", "abc")


def test_unknown_accuracy_is_neither() -> None:
    assert choose_names(make_record("a", None), make_record("b", 60)) == ("b", "")
    assert choose_names() == ("", "")
