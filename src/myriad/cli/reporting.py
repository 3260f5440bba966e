"""The HTML report that several verbs end with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from myriad.progress import Progress


def write_html(evidence: dict[str, Any], path: Path, progress: Progress) -> Path:
    """Write the report of some evidence; return its path."""
    from myriad.pipelines.pictures import read_picture
    from myriad.report import write_report

    write_report(evidence, path, read_image=read_picture, progress=progress)
    return path
