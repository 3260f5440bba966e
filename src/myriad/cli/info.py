"""``myriad info``: versions, machine and caches, to paste into an issue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from myriad.cli.text import format_bytes, printable
from myriad.cli.verb import verb
from myriad.pipelines.run import Run

if TYPE_CHECKING:
    from myriad.pipelines.installation import Installation


def show(found: Installation, run: Run) -> None:
    """Print Markdown: a table for each subject."""
    machine, running, caches = found.machine, dict(found.running), found.caches
    locks = running.pop("file_locks")
    sections: dict[str, Mapping[str, Any]] = {
        "Versions": {name: known or "not installed" for name, known in found.versions.items()},
        "Machine": machine
        | {
            "features": " ".join(machine["features"]),
            "memory": format_bytes(machine["memory"]),
        },
        "Running": running
        | {
            "libraries": "; ".join(running["libraries"]),
            "file locks": "yes" if locks else "no",
        },
        "Caches": {
            "kernels": f"{caches['n_kernels']} compiled, {format_bytes(caches['bytes'])}, in "
            f"{caches['kernels']}",
            "measurements": caches["measurements"] or "none",
            "package": caches["package"],
            "executable": caches["executable"],
        },
        "Environment": found.environment,
    }
    blocks = [_write_section(title, facts) for title, facts in sections.items() if facts]
    print("\n\n".join(blocks))


def _write_section(title: str, facts: Mapping[str, Any]) -> str:
    rows = [f"| {name} | {_escape(value)} |" for name, value in facts.items()]
    return "\n".join([f"**{title}**", "", "| | |", "|---|---|", *rows])


def _escape(value: object) -> str:
    return printable(value).replace("|", "\\|")


@verb(show=show)
def info(*, run: Run) -> Installation:
    """Print versions, machine, threads and caches, to paste into an issue.

    Example: myriad info
    """
    from myriad.pipelines.installation import describe_installation

    return describe_installation(run.threads)
