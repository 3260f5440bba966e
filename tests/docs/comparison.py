"""Compare the output that a page shows with what its commands print now.

Every number is of one of three kinds:

- **Compared exactly**: whole numbers, such as counts of rows, classes, images, features, files and
  bytes per row, and ratios. They follow from fixed data and seeds and do not depend on rounding.
- **Within a tolerance**: percentages (accuracies, class-confusion loss, errors of codes) may differ
  by `TOLERANCE` points. Rounding differs between processors, so that a search may choose other
  settings, and the validation splits of the pages have 24 to 48 images, of which one counts 2 to 4
  points.
- **Masked**: any value of the right form will do. These are times, sizes of files and of memory,
  rates and the number of cores of the machine; settings that a search chooses, among them the
  number of epochs and which setting or objective is the best; predicted labels, scores, losses and
  other numbers with decimals.

The number of epochs is too fragile to compare: early stopping depends on ties between accuracies.
"""

import re

GAP = "..."
TOLERANCE = 15.0
"""Percentage points by which an accuracy may differ from the one that a page shows."""

_NUMBER = r"-?\d+(?:,\d{3})*(?:\.\d*)?(?:e[-+]?\d+)?"
_CHOSEN = "beta|eta|lam|plda"
_MASKS = [
    (re.compile(r"\b\d+ h \d+ min\b|\b(?:\d+ min )?[\d.]+ s\b|[\d,.]+ days\b"), "TIME"),
    (re.compile(r"[\d,.]+ (?:B|bytes|kB|MB|GB|TB)\b"), "SIZE"),
    # What a search chooses: as text, as JSON, as a Python dictionary, as options of a command.
    (
        re.compile(rf"""(\b(?:{_CHOSEN})|["'](?:{_CHOSEN})["']:) (?:["']?all\b["']?|{_NUMBER})"""),
        r"\1 CHOSEN",
    ),
    (re.compile(r"^(Chosen|Runner-up) .*"), r"\1 CHOSEN"),
    (re.compile(r"^(Signature) +network .*"), r"\1 CHOSEN"),
    (re.compile(r"^(Signature shares) .*"), r"\1 SHARES"),
    (re.compile(r"^(Settings) +(?:loss squared_hinge, lam|eta|lam) .*"), r"\1 CHOSEN"),
    (re.compile(r"""(\bscale|["']scale["']:) (?:[Tt]rue|[Ff]alse)\b"""), r"\1 CHOSEN"),
    (
        re.compile(r"( --(?:(?:beta|eta|lam|scale|schedule|epochs) \S+|(?:no-)?center))+$"),
        " OPTIONS",
    ),
    (re.compile(r"""(^Epochs|["']epochs["']:) +\d+"""), r"\1 CHOSEN"),
    # A line of the table of tune: beta, eta, lam, center, loss, scale, schedule, accuracies, epochs
    # and time.
    (
        re.compile(
            rf" (?:all|{_NUMBER})(?: +{_NUMBER}){{2}}(?: +(?:yes|no))? +(\w+) +(?:yes|no) "
            r"+(fixed|lam) "
        ),
        r" CHOSEN \1 CHOSEN \2 ",
    ),
    (re.compile(r" \d+ +TIME(?: +best)?$"), " EPOCHS TIME"),
    # A line of the table of compare: accuracies, time, epochs, settings. And the best of them.
    (re.compile(r"\bTIME +\d+(?=$| )"), "TIME EPOCHS"),
    (re.compile(r"(myriad evaluate \w+)/\w+ DATA$"), r"\1/BEST DATA"),
    # What plan says of the machine.
    (re.compile(r"^(Workers|Matrix products) +\S+"), r"\1 RATE"),
    (re.compile(r"at most [\d,]+ features"), "at most N features"),
    # The parts of a score that explain prints.
    (re.compile(rf"^(Score|from the image|bias) +{_NUMBER}$"), r"\1 SCORE"),
    # Predictions: as a line of CSV, in a table, and as JSON.
    (re.compile(rf",(\d+),[^,]+,{_NUMBER}$"), r",\1,LABEL,SCORE"),
    (re.compile(rf"\S+ \({_NUMBER}\)"), "LABEL (SCORE)"),
    (re.compile(rf"(?:\S+ )?\S+ \({_NUMBER} %\)"), "LABEL (PROBABILITY)"),
    (re.compile(r'"label": "[^"]*"'), '"label": LABEL'),
]
_RATIO = re.compile(r'^ *(?:Ratio +|"ratio": )[\d.]+,?$')
_PERCENTAGES = [
    re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?= %)"),
    re.compile(r"(?<=\s)(?<!: )\d{1,3}\.\d\d(?=\s|$)"),
    re.compile(r'(?<=": )[\d.]+(?=,?$)'),
]
"""A number before a percent sign, a cell of a table, and a value of JSON, see `_ACCURACY`."""
_ACCURACY = re.compile(r' *"(?:\w*top[15]|map|map11|class_confusion|ceiling|\d+)": ')
_DECIMAL = re.compile(r"-?\b\d+(?:,\d{3})*(?:\.\d*(?:e[-+]?\d+)?|e[-+]?\d+)(?![A-Za-z])")
_RANKED = "Objective "
"""How the head of a table begins whose lines are sorted by accuracy."""


def mask(line: str) -> str:
    """Return a line without what may differ between two machines."""
    return _split(line)[0]


def fits(shown: str, found: str) -> bool:
    """Return whether a printed line is what the page shows, as far as machines agree."""
    (shown_text, shown_values), (text, values) = _split(shown), _split(found)
    return shown_text == text and all(
        abs(one - other) <= TOLERANCE for one, other in zip(shown_values, values, strict=True)
    )


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
    if len(found) < length or not all(
        fits(one, other)
        for one, other in zip(
            sorted(shown[:length], key=mask), sorted(found[:length], key=mask), strict=True
        )
    ):
        return None
    rest = match(shown[length:], found[length:])
    return None if rest is None else [*found[:length], *rest]


def _split(line: str) -> tuple[str, list[float]]:
    """Return the masked text of a line, and its percentages."""
    values: list[float] = []

    def take(number: re.Match[str]) -> str:
        values.append(float(number[0]))
        return "PERCENT"

    if not _RATIO.match(line):
        for pattern, sign in _MASKS:
            line = pattern.sub(sign, line)
        sign, cell, value = _PERCENTAGES
        line = cell.sub(take, sign.sub(take, line))
        if _ACCURACY.match(line):
            line = value.sub(take, line)
        line = _DECIMAL.sub("NUMBER", line)
    return " ".join(line.split()), values
