"""The pages of the documentation as blocks of code, and their commands with the output shown.

A block between fences is of one of these languages:

- ``console``: lines that begin with ``$ `` are commands, the lines below them their output, which
  `tests.docs.comparison` compares. A line ``...`` stands for any lines. A command ends with
  status 0 unless ``$ echo $?`` follows it.
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

INSTALLING = {
    "pip install . && myriad demo",
    'pip install -e ".[test]" && pytest',
    'pip install -e ".[docs]"',
    "zensical serve",
    'pip install ".[serve]"',
    "MYRIAD_API_KEY=choose-a-long-one myriad serve birds --host 0.0.0.0",
    "myriad serve birds",
    "myriad warm-up",
    "myriad serve birds --feedback corrected",
    "myriad train corrected/manifest.csv --out birds2",
}
"""Commands that no test runs here: they install, compile for long, or never end."""

_FENCE = re.compile(r"^```(\w*)$")


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
