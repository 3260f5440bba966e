"""The pages of the documentation as blocks of code, and their commands with the output shown.

A block between fences is of one of these languages:

- ``console``: lines that begin with ``$ `` are commands, the lines below them their output. A line
  ``...`` stands for any lines. A command ends with status 0 unless ``$ echo $?`` follows it.
- ``python``: run as it stands, block after block in one namespace; a ``text`` block right below is
  what it prints.
- ``text``: anything that is not run.
- ``sh``: commands that change the reader's machine; each is named in `INSTALLING`.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GAP = "..."

INSTALLING = {
    "pip install . && myriad demo",
    'pip install -e ".[test]" && pytest',
    'pip install -e ".[docs]"',
    "mkdocs serve",
}
"""Commands that no test runs here: they install, or never end."""

_FENCE = re.compile(r"^```(\w*)$")
_NUMBER = r"-?\d[\d,.]*(?:e[-+]?\d+)?"
_MASKS = [
    (re.compile(r"\b\d+ h \d+ min\b|\b(?:\d+ min )?[\d.]+ s\b|[\d,.]+ days\b"), "TIME"),
    (re.compile(r"[\d,.]+ (?:B|bytes|kB|MB|GB|TB)\b"), "SIZE"),
    # What a search finds: as text, as JSON, as a Python dictionary, as options of a command.
    (re.compile(rf"""(\bbeta|["']beta["']:) (?:["']?all\b["']?|{_NUMBER})"""), r"\1 0"),
    (re.compile(r"""(\bscale|["']scale["']:) (?:[Tt]rue|[Ff]alse)\b"""), r"\1 FLAG"),
    (re.compile(r"( --(?:beta|eta|lam|scale|schedule|epochs) \S+)+$"), " OPTIONS"),
    # A line of the table of tune, and whether it is the best.
    (
        re.compile(rf" (?:all|{_NUMBER})((?: +\S+){{2,3}}) +(?:yes|no) +(fixed|lam) "),
        r" 0 \1 FLAG \2 ",
    ),
    (re.compile(r"(TIME) +best$"), r"\1"),
    # The best of a comparison.
    (re.compile(r"(myriad evaluate \w+)/\w+ DATA$"), r"\1/BEST DATA"),
    # Predictions: as a line of CSV, in a table, and as JSON.
    (re.compile(rf",\d+,[^,]+,{_NUMBER}$"), ",RANK,LABEL,SCORE"),
    (re.compile(_NUMBER), "0"),
    (re.compile(r"\S+ \(0\)"), "LABEL (0)"),
    (re.compile(r'"label": "[^"]*"'), '"label": LABEL'),
    (re.compile(r"\s+"), " "),
]
_RANKED = "Objective "
"""How the head of a table begins whose lines are sorted by accuracy."""


@dataclass
class Block:
    """The lines between two fences; `start` and `end` are the places of the fences."""

    language: str
    lines: list[str]
    start: int
    end: int


@dataclass
class Command:
    """One command of a console block, and the lines that the page shows below it."""

    text: str
    shown: list[str] = field(default_factory=list)


def read_blocks(lines: list[str]) -> list[Block]:
    """Return the blocks of code of a page."""
    blocks: list[Block] = []
    opened: tuple[str, int] | None = None
    for place, line in enumerate(lines):
        fence = _FENCE.match(line)
        if opened is None and line.startswith("```"):
            assert fence, f"line {place + 1}: a fence that is not understood: {line}"
            opened = fence[1], place
        elif opened is not None and line == "```":
            language, start = opened
            blocks.append(Block(language, lines[start + 1 : place], start, place))
            opened = None
    assert opened is None, "a block is not closed"
    return blocks


def read_commands(block: Block) -> list[Command]:
    """Return the commands of a console block."""
    commands: list[Command] = []
    for line in block.lines:
        if line.startswith("$ "):
            commands.append(Command(line[2:]))
        else:
            assert commands, f"output above the first command: {line}"
            commands[-1].shown.append(line)
    return commands


def mask(line: str) -> str:
    """Return a line without what may differ between two machines.

    These are times and sizes, and all that depends on rounding, which is not the same on every
    processor: numbers, the settings that a search chooses, and the labels that are predicted.
    """
    for pattern, sign in _MASKS:
        line = pattern.sub(sign, line)
    return line.strip()


def match(shown: list[str], found: list[str]) -> list[str] | None:
    """Return the lines of `found` that the lines shown stand for, or None if they do not fit."""
    if not shown:
        return [] if not found else None
    if shown[0] == GAP:
        for skipped in range(len(found) + 1):
            rest = match(shown[1:], found[skipped:])
            if rest is not None:
                return [GAP, *rest]
        return None
    length = 1
    if shown[0].startswith(_RANKED):
        length = shown.index("") if "" in shown else len(shown)
    if sorted(map(mask, shown[:length])) != sorted(map(mask, found[:length])):
        return None
    rest = match(shown[length:], found[length:])
    return None if rest is None else [*found[:length], *rest]
