"""``compress``: codes that models understand."""

from tests.cli.calling import call, call_json


def test_compress_codes_a_store_that_models_then_understand(photos, tmp_path, capsys):
    plain = tmp_path / "plain"
    options = ["--codes", "none", "--components", 8, "--regions", 1]
    call_json(capsys, "extract", photos, "--out", plain, *options)
    for codes, ratio in (("bits", 64), ("scalar", 4)):
        out, model = tmp_path / codes, tmp_path / f"{codes}.model"
        found = call_json(
            capsys, "compress", plain, "--codes", codes, "--ratio", ratio, "--out", out
        )
        assert found["rows"] == 180
        assert found["ratio"] >= ratio
        assert found["code"]["kind"] == codes
        assert 0 < found["error"] < 1
        call_json(capsys, "train", out, "--out", model, "--epochs", 5)
        by_codes = call_json(capsys, "evaluate", model, out)
        by_images = call_json(capsys, "evaluate", model, photos)
        assert by_codes["top1"] > 30
        assert abs(by_codes["top1"] - by_images["top1"]) < (0.01 if codes == "bits" else 6)
    shown = call(
        capsys,
        "compress",
        tmp_path / "bits",
        "--codes",
        "bits",
        "--keep",
        0.1,
        "--out",
        tmp_path / "cut",
    )
    assert "bits: features" in shown.out
    assert "myriad train" in shown.out
