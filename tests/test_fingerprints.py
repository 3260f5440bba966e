"""The command of the fingerprints: it records hashes, and sees what differs or is missing."""

import json

from tests.fingerprints.__main__ import main


def test_fingerprints_are_recorded_and_checked(tmp_path, capsys):
    file = tmp_path / "hashes.json"
    only = ["--only", "means"]
    assert main([*only, "--out", str(file)]) == 0
    hashes = json.loads(file.read_text())
    assert set(hashes) == {"means arrays", "means ranking", "means settings"}
    assert all(len(value) == 64 for value in hashes.values())
    assert main([*only, "--check", str(file)]) == 0
    capsys.readouterr()
    file.write_text(json.dumps(hashes | {"means arrays": "0" * 64, "means gone": "0" * 64}))
    assert main([*only, "--check", str(file)]) == 1
    out = capsys.readouterr().out
    assert "differs: means arrays" in out
    assert "missing: means gone" in out
