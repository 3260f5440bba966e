"""The machine, its BLAS, commit and date that every benchmark writes with its results."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info


def describe_run() -> dict[str, Any]:
    """Return the machine, its BLAS, the commit that is measured and the date."""
    return {
        "machine": f"{read_processor()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}",
        "blas": describe_blas(),
        "commit": read_commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def describe_blas() -> list[str]:
    """Return the BLAS libraries that are loaded, each with the processor that its code is for.

    OpenBLAS chooses that when it is loaded, or OPENBLAS_CORETYPE does.
    """
    loaded = [found for found in threadpool_info() if found["user_api"] == "blas"]
    return sorted(
        {f"{one['internal_api']} {one['version']} ({one.get('architecture')})" for one in loaded}
    )


def read_commit() -> str | None:
    """Return the commit that is measured, if this is a working copy."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def read_processor() -> str:
    """Return the name of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def write_results(path: Path | None, results: dict[str, Any]) -> None:
    """Write results as JSON, if a path is given."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
