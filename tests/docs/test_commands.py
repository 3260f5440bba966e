"""Every command and every Python block on every page does what the page says."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from myriad.cli.main import VERBS, app
from tests.docs.pages import DOCS, INSTALLING, PAGES, ROOT, mask, match, read_blocks
from tests.docs.running import Reader
from tests.docs.sample import TRAINED, make_sample

NAMES = [path.relative_to(DOCS).as_posix() for path in PAGES]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "sample"
    make_sample(folder)
    ended = Reader(folder).run(TRAINED)
    assert ended.status == 0, ended.err
    return folder


def blocks_of(name: str):
    return read_blocks((DOCS / name).read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("name", [name for name in NAMES if blocks_of(name)])
def test_page(name: str, sample: Path, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    shutil.copytree(sample, folder)
    reader = Reader(folder)
    blocks = blocks_of(name)
    for block, below in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language == "console":
            for text, shown, ended in reader.run_console(block):
                check_lines(f"{name}: $ {text}", shown, ended.lines)
        elif block.language == "python":
            printed = reader.run_python(block)
            if below and below.language == "text" and below.start <= block.end + 2:
                check_lines(f"{name}, line {block.start + 1}", below.lines, printed)


def check_lines(where: str, shown: list[str], found: list[str]) -> None:
    if shown:
        assert match(shown, found) is not None, "\n".join([where, *found])


@pytest.mark.parametrize("name", NAMES)
def test_no_command_escapes(name: str) -> None:
    for block in blocks_of(name):
        assert block.language in {"console", "python", "text", "sh"}
        if block.language == "sh":
            assert set(block.lines) <= INSTALLING
        if block.language == "text":
            typed = [line for line in block.lines if re.match(r"(\$|>>>|myriad|pip) ", line)]
            assert not typed


def test_installing_is_as_the_project_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in INSTALLING:
        for extra in re.findall(r"\[(\w+)\]", command):
            assert extra in project["optional-dependencies"]
        if "&&" in command:
            assert command in readme


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_is_on_its_page(verb: str) -> None:
    text = (DOCS / "verbs" / f"{verb}.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(--[a-z0-9-]+)", text))
    parameters = get_command(app).commands[verb].params  # type: ignore[attr-defined]
    known = {
        option
        for parameter in parameters
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--") and option != "--help"
    }
    common = {"--seed", "--threads", "--json", "--quiet", "--overwrite", "--resume"}
    assert known - common <= named, "options that the page does not explain"
    assert named <= known | common, "options that the verb does not have"


@pytest.mark.parametrize(
    ("shown", "found", "fits"),
    [
        (["12 rows, 3.5 s"], ["9,600 rows, 1 min 25 s"], True),
        (["a (0.78)  b (-1.41)"], ["x (1.2)    y (-0.3)"], True),
        (["12 rows"], ["12 columns"], False),
        (["one", "..."], ["one", "two", "three"], True),
        (["...", "three"], ["one", "two", "three"], True),
        (["...", "four"], ["one", "two", "three"], False),
        (["one"], ["one", "two"], False),
        (["one", "two"], ["one"], False),
        (
            ["Objective  Top-1", "ovr 9", "auc 8", ""],
            ["Objective Top-1", "auc 3", "ovr 2", ""],
            True,
        ),
        (["Objective  Top-1", "ovr 9", "auc 8"], ["Objective  Top-1", "auc 3", "warp 2"], False),
        (["One  Two", "ovr 9", "auc 8"], ["One  Two", "auc 3", "ovr 2"], False),
    ],
)
def test_lines_fit_if_only_numbers_differ(shown: list[str], found: list[str], fits: bool) -> None:
    assert (match(shown, found) is not None) is fits


def test_masked_lines_keep_their_words() -> None:
    assert mask("Model size  9.83 MB") == "Model size SIZE"
    assert mask('  "label": "a",') == '"label": LABEL,'


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (
            "eta 0.332, beta 8.0, lam 0.0, scale True, seed 0",
            "eta 1, beta all, lam 1, scale False, seed 0",
        ),
        ('    "beta": 8.0,', '    "beta": "all",'),
        ('    "scale": true,', '    "scale": false,'),
        ("{'eta': 0.1, 'beta': 1.0, 'scale': False}", "{'eta': 2, 'beta': 'all', 'scale': True}"),
        (
            "grid   8  0.3  0  yes  fixed  hinge  7.5  7.9  5  0.4 s",
            "grid  all  1  1e-05  no  fixed  hinge  8  9  7  1 min 03 s  best",
        ),
        (
            "  myriad train a --out B --objective ovr --beta all --scale yes --lam 1e-05",
            "  myriad train a --out B --objective ovr --beta 8 --schedule lam --epochs 7",
        ),
        ("  myriad evaluate compared/ovr DATA", "  myriad evaluate compared/softmax DATA"),
        ("new/1.jpg,1,a,0.71", "new/1.jpg,1,e,-0.2"),
        ("extract  4 min 33 s  20.5 MB", "extract  2 h 07 min  1,000 B"),
    ],
)
def test_what_rounding_may_change_is_masked(shown: str, found: str) -> None:
    assert mask(shown) == mask(found)


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ("True True", "True False"),
        ("eta 0.3, beta 8.0, scale True", "eta 0.3, scale True"),
        (
            "lam, fixed step  8  0.3  0  yes  fixed  hinge",
            "lam, fixed step  8  0.3  0  yes  lam  hinge",
        ),
        (
            "  myriad train a --out B --objective ovr --beta 8",
            "  myriad train a --out B --objective ovr",
        ),
        ("  myriad evaluate small DATA", "  myriad evaluate large DATA"),
        ("new/1.jpg,1,a,0.71", "new/1.jpg,1,a"),
    ],
)
def test_words_that_no_rounding_changes_are_compared(shown: str, found: str) -> None:
    assert mask(shown) != mask(found)


def test_a_failing_command_fails_the_page(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    (block,) = read_blocks(["```console", "$ myriad evaluate nothing nowhere", "```"])
    with pytest.raises(AssertionError, match="nothing"):
        reader.run_console(block)
    (block,) = read_blocks(
        ["```console", "$ myriad evaluate nothing nowhere", "$ echo $?", "2", "```"]
    )
    (_, _, ended), (_, shown, status) = reader.run_console(block)
    assert ended.status == 2
    assert status.lines == shown
