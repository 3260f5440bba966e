"""The console script: imports little, so that an early Ctrl-C ends as quietly as a late one."""

from __future__ import annotations

import os
import sys


def run() -> None:
    """Import the command and run it."""
    try:
        from myriad.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:  # before the verb began
        print("Interrupted.", file=sys.stderr, flush=True)
        os._exit(130)
