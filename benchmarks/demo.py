"""Seconds of ``myriad demo`` as a new user meets it: nothing compiled yet.

python benchmarks/demo.py --out benchmarks/results/demo.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import describe_run, write_results


def main() -> None:
    """Run the demo in an empty folder with an empty cache of kernels, and print its time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": f"{folder}/kernels"}
        command = [sys.executable, "-m", "myriad.cli.main", "demo", "--json", "--quiet"]
        began = time.perf_counter()
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        seconds = round(time.perf_counter() - began, 1)
    found = json.loads(done.stdout)
    print(f"demo {seconds} s, top-1 {found['test']['top1']:.2f} % over samples of the test split")
    measured = {key: found[key] for key in ("seconds_training", "settings", "test")}
    write_results(options.out, {**describe_run(), "seconds": seconds, **measured})


if __name__ == "__main__":
    main()
