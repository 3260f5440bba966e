"""Results as text, on stdout: tables, facts, and the next commands.

On a terminal tables have rules and bold headers; in a pipe they are plain text, one line per row,
never cut or wrapped.
"""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from myriad.cli.text import format_amount, format_settings, printable
from myriad.lazy import LazyModule

if TYPE_CHECKING:
    import rich.box as rich_box
    import rich.table as rich_table
    import rich.text as rich_text
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from myriad.measures import Measures
    from myriad.models import Calibration, LabelCalibration
    from myriad.store import Store
else:  # not needed with --json, where imports are most of the time of a prediction
    rich_box = LazyModule("rich.box")
    rich_table = LazyModule("rich.table")
    rich_text = LazyModule("rich.text")

_UNBOUNDED = 100_000
SPLITS = {"val": "validation ", "train": "training ", "all": ""}
"""Words before "images" or "rows" of a split, where they differ from its name."""


def name_rows(split: str, noun: str) -> str:
    """Return what the images or rows of a split are called, in the plural: "validation images"."""
    return SPLITS.get(split, f"{split} ") + f"{noun}s"


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    title: str = "",
    right: Collection[str] = (),
    records: bool = False,
) -> None:
    """Print a table with a header.

    Columns of numbers are aligned to the right, and so are those named in `right`. A float is
    printed with two decimals, an integer with commas, and None or NaN as a dash; for any other
    format, pass text. If the terminal is too narrow, columns that are the same in all rows are
    left out and stated below the table.

    Parameters
    ----------
    records : if the terminal is still too narrow, print a list of the columns for each row, rather
        than break words; empty cells are left out.
    """
    listed = [list(row) for row in rows]
    names = list(columns)
    console = _open_console()
    table = _make_table(names, listed, right, console)
    same: dict[str, Any] = {}
    if console.is_terminal and listed:
        while _is_too_wide(console, table):
            alike = _find_alike(names, listed) if len(listed) > 1 else None
            if alike is None:
                break
            same[names.pop(alike)] = listed[0][alike]
            for row in listed:
                del row[alike]
            table = _make_table(names, listed, right, console)
    _print_title(console, title)
    if records and console.is_terminal and _is_too_wide(console, table):
        _print_records(console, names, listed)
    else:
        _print_rows(console, table)
    if same:
        facts = ", ".join(f"{name} {_write_cell(value)}" for name, value in same.items())
        console.print(rich_text.Text(printable(f"Same in all rows: {facts}")))


def _is_too_wide(console: Console, table: Table) -> bool:
    unbounded = console.options.update(max_width=_UNBOUNDED)
    return bool(console.measure(table, options=unbounded).maximum > console.width)


def _print_records(console: Console, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print the first column of each row as a title, and the others as a list below it."""
    width = max(map(len, columns[1:]), default=0)
    for row in rows:
        console.print(rich_text.Text(printable(row[0]), style="bold"), soft_wrap=True)
        table = rich_table.Table(box=None, show_header=False, padding=(0, 0, 0, 2))
        table.add_column(style="dim", no_wrap=True, min_width=width)
        table.add_column(overflow="fold")
        for name, value in zip(columns[1:], row[1:], strict=True):
            if value != "":
                table.add_row(rich_text.Text(printable(name)), _write_cell(value))
        console.print(table)


def _make_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    right: Collection[str],
    console: Console,
) -> Table:
    """Return a table; where it is too wide, lines of words are broken, and numbers are not."""
    table = rich_table.Table(
        box=rich_box.SIMPLE_HEAD if console.is_terminal else None,
        pad_edge=False,
        padding=(0, 1, 0, 0) if console.is_terminal else (0, 2, 0, 0),
        header_style="bold",
    )
    for index, name in enumerate(columns):
        numbers = bool(rows) and all(_is_number(row[index]) for row in rows)
        to_right = numbers or name in right
        side: Any = "right" if to_right else "left"
        title = rich_text.Text(printable(name))
        table.add_column(title, justify=side, overflow="fold", no_wrap=to_right)
    for row in rows:
        table.add_row(*(_write_cell(value) for value in row))
    return table


def _find_alike(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int | None:
    """Return the last column that has the same value in all rows; never the first column."""
    for index in reversed(range(1, len(columns))):
        if columns[index] and all(row[index] == rows[0][index] for row in rows):
            return index
    return None


CHOSEN_SETTINGS = ("loss", "lam", "eta", "beta", "plda", "scaled", "balanced", "prior_weight")
"""Settings of a model chosen automatically that are printed; all are in its ``config.json``."""


def describe_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings for `print_facts`; settings chosen automatically are in words."""
    facts = {}
    choice = settings.get("signature_choice")
    if isinstance(choice, dict) and "sentence" in choice:
        facts["Signature"] = str(choice["sentence"])
    found, second = settings.get("cross_validation"), settings.get("runner_up")
    if found is None:
        plain = {name: value for name, value in settings.items() if not isinstance(value, dict)}
        facts["Settings"] = format_settings(plain)
    shares = settings.get("signature_shares")
    if isinstance(shares, dict):
        facts["Signature shares"] = ", ".join(
            f"{name} {share:g} %" for name, share in shares.items()
        )
    if found is None:
        return facts
    listed = {name: settings[name] for name in CHOSEN_SETTINGS if settings.get(name)}
    accuracy = f"{found['measure']} {found['accuracy']:.2f} ± {found['error']:.2f} %"
    chosen = {
        "Chosen": f"{_name(settings)}, {accuracy} on {found['rows']:,} held-out rows",
        "Settings": format_settings(listed),
    }
    if second is not None:
        chosen["Runner-up"] = f"{_name(second)}, {_describe_gap(second['behind'], second['error'])}"
    return chosen | facts


def _describe_gap(behind: float, error: float) -> str:
    """Return by how much a candidate is behind the chosen one.

    It may be ahead: single accuracies are noisy, and the choice smooths them.
    """
    points = f"by {abs(behind):.2f} ± {error:.2f} points"
    if behind >= 0:
        return f"behind {points}"
    return f"ahead {points}" + (", within the error" if -behind < 2 * error else "")


def _name(settings: Mapping[str, Any]) -> str:
    """Return the objective of a candidate, and the space in which it is trained."""
    space = " in the space of plda" if settings.get("plda") else ""
    return f"{settings['objective']}{space}"


def describe_calibration(calibration: Calibration | LabelCalibration | None) -> dict[str, str]:
    """Return by which rows the probabilities are calibrated."""
    if calibration is None:
        return {"Probabilities": "none: the model is not calibrated"}
    shown = f"calibrated on {calibration.n_rows:,} rows ({calibration.source})"
    return {"Probabilities": shown}


def print_facts(facts: Mapping[str, Any], *, title: str = "") -> None:
    """Print a list of names and values."""
    console = _open_console()
    table = rich_table.Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(rich_text.Text(printable(name)), _write_cell(value))
    _print_title(console, title)
    _print_rows(console, table)


def print_summary(paths: Mapping[str, Any], commands: Iterable[Sequence[Any]] = ()) -> None:
    """Print the closing summary: the paths that were written, and the next commands.

    Parameters
    ----------
    paths : the path of everything that was written, by its name (``"Model"``).
    commands : commands as sequences of words, ``("myriad", "predict", model, "IMAGE")``; words
        with spaces are quoted, so that a line can be copied into a shell.
    """
    console = _open_console()
    console.print()
    width = max(map(len, paths), default=0)
    for name, path in paths.items():
        line = rich_text.Text(f"{name:<{width}}  ", style="bold")
        line += rich_text.Text(printable(path), style="not bold")
        console.print(line, soft_wrap=True)
    typed = [shlex.join(str(word) for word in words) for words in commands]
    if typed:
        console.print("\nNext:" if paths else "Next:")
    for command in typed:
        console.print(rich_text.Text(f"  {printable(command)}", style="cyan"), soft_wrap=True)


def print_store(store: Store) -> None:
    """Print the path of a store that was written, and what can be done with it next."""
    path = store.path if store.path.name else store.path.resolve()
    verb, suffix = ("train", ".model") if len(store.class_names) > 1 else ("export", ".rows")
    command = ("myriad", verb, store.path, "--out", path.with_suffix(suffix))
    print_summary({"Store": store.path}, [command])


def _open_console() -> Console:
    """Return a console on stdout as it is now; only a terminal gets colours, rules and folding."""
    from rich.console import Console

    class Stdout(Console):
        def on_broken_pipe(self) -> None:
            """Leave the error to the caller; rich would exit the process."""
            raise BrokenPipeError

    terminal = sys.stdout.isatty()
    return Stdout(
        file=sys.stdout,
        force_terminal=terminal,
        width=None if terminal else _UNBOUNDED,
        highlight=False,
        emoji=False,
    )


def _print_title(console: Console, title: str) -> None:
    if title:
        console.print(rich_text.Text(printable(title), style="bold"), soft_wrap=True)


def _print_rows(console: Console, table: Table) -> None:
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        print(line.rstrip())


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _write_cell(value: Any) -> Text:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return rich_text.Text("-")
    if isinstance(value, bool):
        return rich_text.Text("yes" if value else "no")
    if isinstance(value, int):
        return rich_text.Text(f"{value:,}")
    if isinstance(value, float):
        return rich_text.Text(f"{value:,.2f}")
    return rich_text.Text(printable(value))


def print_accuracies(measures: Measures, *, split: str, noun: str) -> None:
    """Print top-1 and top-5 accuracy, over samples and as the mean over classes.

    Where rows have several labels, the mean average precision is printed as well.

    Parameters
    ----------
    noun : what the model ranked, "image" or "row".
    """
    ranked = format_amount(measures.n, unit=name_rows(split, noun))
    counts = f"{ranked}, {measures.classes:,} classes"
    if measures.unknown:
        counts += f", {measures.unknown:,} of classes that the model does not know"
    if measures.bad:
        counts += f", {measures.bad:,} bad images skipped"
    print_table(
        ["Accuracy in %", "Top-1", "Top-5"],
        [
            ["over samples", measures.sample_at[0], measures.sample_at[4]],
            ["mean over classes", measures.class_at[0], measures.class_at[4]],
        ],
        title=counts,
    )
    if measures.map is not None and measures.map11 is not None:
        shown = f"{measures.map:.2f} % ({measures.map11:.2f} % interpolated at 11 points)"
        print_facts({"Mean average precision": shown})
