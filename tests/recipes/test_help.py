"""The help of recipes tells what their first lines tell, and the defaults of their options."""

import pytest

from tests.scripts import ROOT, run_script


def test_help_shows_the_text_and_the_defaults(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "recipes"))
    from results import make_parser

    parser = make_parser("A title.\n\n    python recipe.py --data X   # 50 % of it\n")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--out", help="a file")
    text = parser.format_help()
    assert "    python recipe.py --data X   # 50 % of it\n" in text
    assert "number of seeds (default: 3)" in text
    assert "a file\n" in text


@pytest.mark.parametrize("name", ["silhouettes", "good_practice", "large_scale_learning"])
def test_the_help_of_a_recipe_has_its_commands(monkeypatch, capsys, name):
    with pytest.raises(SystemExit, match="0"):
        run_script(monkeypatch, f"recipes/{name}.py", "--help")
    assert f"python recipes/{name}.py --quick" in capsys.readouterr().out


@pytest.mark.parametrize(
    "call", ["highly_multiclass.py --lines none", "topk_networks.py --methods none"]
)
def test_unknown_lines_are_refused_before_any_work(monkeypatch, capsys, tmp_path, call):
    with pytest.raises(SystemExit) as refused:
        run_script(monkeypatch, *f"recipes/{call} --quick".split(), "--out", tmp_path / "out.json")
    assert "not none" in str(refused.value) + capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
