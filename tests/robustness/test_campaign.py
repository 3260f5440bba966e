"""The campaign: the order in which readers are fuzzed."""

import pytest

from tests.robustness import campaign as campaign_module
from tests.robustness import campaign_record, fuzzing
from tests.robustness.campaign import SLICE, Campaign, run_fuzz
from tests.robustness.campaign_record import ENOUGH
from tests.robustness.fuzzing import Fuzzed


@pytest.fixture
def fuzzed(tmp_path, monkeypatch):
    """Return a function that fuzzes some readers for some time; each file takes a second."""
    now = [0.0]
    monkeypatch.setattr(campaign_module.time, "monotonic", lambda: now[0])

    def fuzz(reader, ready, work, found, *, seconds, seed, ends):
        turns.append((found.name, seconds, seed))
        now[0] += seconds
        return Fuzzed(n=int(seconds), seconds=seconds)

    def run(names, minutes, *, resume=True, before=None, files=None):
        monkeypatch.setattr(campaign_record, "sum_cpu_seconds", lambda: before or {})
        monkeypatch.setattr(campaign_record, "count_files", lambda: files or {})
        turns.clear()
        campaign = Campaign(tmp_path, tmp_path, tmp_path, 0, tuple(names), resume)
        run_fuzz(campaign, now[0] + 60 * minutes)
        return campaign

    turns = run.turns = []
    monkeypatch.setattr(fuzzing, "fuzz", fuzz)
    return run


def test_readers_share_the_time(fuzzed):
    campaign = fuzzed(["npy", "npz"], 1, resume=False)
    assert campaign.cpu_seconds == {"npy": 30.0, "npz": 30.0}
    assert campaign.tried == {"fuzz": {"npy": 30, "npz": 30}}


def test_readers_take_turns_and_read_other_files_in_each(fuzzed):
    campaign = fuzzed(["npy", "npz"], 4 * SLICE / 60, resume=False)
    assert [name for name, _, _ in fuzzed.turns] == ["npy", "npz", "npy", "npz"]
    assert campaign.cpu_seconds == {"npy": 2 * SLICE, "npz": 2 * SLICE}
    assert len({seed for name, _, seed in fuzzed.turns if name == "npy"}) == 2


def test_a_resumed_run_begins_with_the_readers_that_were_fuzzed_least(fuzzed):
    before = {"npy": 100.0, "npz": 20.0, "tar": ENOUGH}
    fuzzed(["npy", "npz", "tar", "zip"], 1, before=before, files={"npz": 7})
    assert [name for name, _, _ in fuzzed.turns] == ["zip", "npz", "npy"]
    assert fuzzed.turns[1][2] == 7


def test_a_resumed_run_ends_when_all_readers_were_fuzzed_enough(fuzzed):
    campaign = fuzzed(["npy", "npz"], 1000, before={"npy": ENOUGH - 1, "npz": ENOUGH})
    assert [name for name, _, _ in fuzzed.turns] == ["npy"]
    assert campaign.counts["fuzz"].endswith("for 1 readers")
