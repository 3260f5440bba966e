"""``extract``: rows as floats or codes."""

from myriad.store import Store
from tests.cli.calling import call_json


def test_extract_keeps_float_rows_on_request(photos, tmp_path, capsys):
    out = tmp_path / "rows"
    options = ["--codes", "none", "--components", 8, "--regions", 1, "--step", 12]
    found = call_json(capsys, "extract", photos, "--out", out, *options)
    assert found["rows"] == 180
    assert found["bytes_per_row"] == 4 * found["dim"] == 4 * 2 * 8 * 64


def test_extract_codes_as_it_goes(photos, tmp_path, capsys):
    for codes in ("bits", "turned", "scalar", "bilinear"):
        out = tmp_path / codes
        options = ["--codes", codes, "--components", 8, "--regions", 1, "--step", 12]
        found = call_json(capsys, "extract", photos, "--out", out, *options)
        assert found["rows"] == 180
        assert found["bytes_per_row"] == {"scalar": 1024}.get(codes, 128)
        assert Store.open(out).code.kind == codes
