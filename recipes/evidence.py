"""Claims of the papers, their numbers beside ours, and a verdict: the tables of docs/evidence.md.

    python recipes/evidence.py                     # print the tables
    python recipes/evidence.py docs/evidence.md    # write them into the page, and draw the plots

All numbers come from `benchmarks/results/`; a verdict is computed from them, so that it changes
with the results. What has not been run says so. A test compares the page with the results. The
plots go to `images/evidence` beside the page.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import evidence_classes
import evidence_codes
import evidence_lecture
import evidence_practice
import evidence_topk
from highly_multiclass_tables import write_tables


def format_tables() -> str:
    """Return all tables of the page."""
    sections = (
        evidence_topk, evidence_practice, evidence_codes, evidence_classes, evidence_lecture
    )  # fmt: skip
    return "\n\n".join(part for section in sections for part in section.list_parts())


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path, nargs="?")
    options = parser.parse_args()
    if options.page is None:
        print(format_tables())
        return
    from evidence_plots import draw_plots

    write_tables(options.page, format_tables())
    draw_plots(options.page.parent / "images" / "evidence")


if __name__ == "__main__":
    main()
