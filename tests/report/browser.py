"""A real browser for the tests, if one is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def open_page(
    page: Path, profile: Path, *, fragment: str = "", width: int = 1280
) -> tuple[str, list[str]]:
    """Open a page; return its document after the scripts ran and what the console said."""
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--enable-logging=stderr",
            "--v=0",
            f"--user-data-dir={profile}",
            f"--window-size={width},1000",
            "--dump-dom",
            page.as_uri() + fragment,
        ],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]
