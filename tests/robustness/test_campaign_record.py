"""The record of campaigns: what counts as tried, over several runs."""

import json

import pytest

from tests.robustness import campaign_record
from tests.robustness.campaign_record import count_tried, list_tried, make_table
from tests.robustness.jobs import JOBS


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Return a function that writes a record of runs with faults of one job."""
    path = tmp_path / "campaign.json"
    monkeypatch.setattr(campaign_record, "RECORD", path)

    def write(*runs):
        common = {"date": "2026-01-01", "found": [], "seed": 0}
        path.write_text(
            json.dumps({"runs": [common | {"tried": {}, "possible": {}} | run for run in runs]})
        )

    return write


def fault_run(tried, possible, *, skipped=0, **more):
    return {
        "tried": {"faults": {"extract": tried}},
        "possible": {"extract": possible},
        "skipped": {"extract": skipped},
    } | more


def test_a_resumed_run_counts_those_before_it(record):
    record(fault_run(60, 170))
    assert count_tried("extract", 170, seed=0) == 60
    assert f"for 0 of {len(JOBS)} jobs" in make_table()
    record(fault_run(60, 170), fault_run(110, 170, skipped=60))
    assert count_tried("extract", 170, seed=0) == 170
    assert f"All single faults, 170, were tried for 1 of {len(JOBS)} jobs" in make_table()


def test_runs_in_another_order_or_of_another_number_of_faults_do_not_count(record):
    record(fault_run(60, 170), fault_run(50, 171), fault_run(40, 170, seed=1))
    assert count_tried("extract", 170, seed=0) == 60
    assert count_tried("extract", 171, seed=0) == 50
    assert count_tried("extract", 170, seed=1) == 40
    assert count_tried("extract", 172, seed=0) == 0
    assert count_tried("import", 170, seed=0) == 0


def test_what_was_tried_is_listed_over_all_runs(record):
    record({"tried": {"pairs": {"a and b": 1}}}, {"tried": {"pairs": {"a and c": 2}, "fuzz": {}}})
    assert list_tried("pairs") == {"a and b", "a and c"}
    assert list_tried("fuzz") == set()


def test_fuzzing_is_stated_in_cpu_time(record):
    record({"cpu_seconds": {"npy": 30.0}}, {"cpu_seconds": {"npy": 32.0, "zip": 10.0}})
    assert (
        "2 readers were fuzzed for 0.2 to 1.0 minutes of CPU time each, 1 minutes" in make_table()
    )
