"""Rows per second of ``myriad import``: copied into shards, and in place.

    python benchmarks/importing.py                      # a table, about 10 s
    python benchmarks/importing.py --out benchmarks/results/importing.json

The rows are float16 of 512 features, as CLIP gives them, in one .npy file.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from record import describe_run, write_results

from myriad.pipelines.run import Run
from myriad.pipelines.stores.importing import ImportOptions, import_rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=512)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    random = np.random.default_rng(0)
    results = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shape = (given.rows, given.features)
        np.save(folder / "rows.npy", random.standard_normal(shape, np.float32).astype(np.float16))
        np.save(folder / "labels.npy", random.integers(0, given.classes, given.rows))
        for in_place in (False, True):
            options = ImportOptions((str(folder / "labels.npy"),), in_place=in_place)
            out = folder / ("referred" if in_place else "copied")
            found = import_rows([folder / "rows.npy"], out, options=options, run=Run(threads=1))
            size = sum(path.stat().st_size for path in out.iterdir())
            results.append(
                {
                    "in place": in_place,
                    "seconds": round(found.seconds, 2),
                    "rows a second": round(given.rows / found.seconds),
                    "bytes of the store": size,
                }
            )
            print(results[-1])
    sizes = {"rows": given.rows, "features": given.features, "classes": given.classes}
    write_results(given.out, {**describe_run(), **sizes, "results": results})


if __name__ == "__main__":
    main()
