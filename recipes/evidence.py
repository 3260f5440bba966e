"""Claims of the papers, their numbers beside ours, and a verdict: the tables of docs/evidence.md.

    python recipes/evidence.py                     # print the tables
    python recipes/evidence.py docs/evidence.md    # write them into the page, and draw the plots
    python recipes/evidence.py --results FOLDER    # print those of your own runs

All numbers come from `benchmarks/results/`, or from `--results`, a folder with the files that
`silhouettes`, `topk_networks`, `good_practice`, `choose_or_compress`, `highly_multiclass` (one file
for each set), `last_violators`, `confusable_classes` and `large_scale_learning` have written to
`--out`, as many as there are, whatever their names. A verdict is computed from the results, so that
it changes with them. A test compares the page with the results. The plots go to `images/evidence`
beside the page.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import evidence_classes
import evidence_codes
import evidence_lecture
import evidence_practice
import evidence_topk
from evidence_claims import NOT_RUN, Source, read_all
from evidence_summary import table_of_main_claims, table_of_verdicts
from highly_multiclass_tables import RESULTS
from results import fill_page, make_parser

SECTIONS = {
    "[TK] Top-k multiclass SVM": evidence_topk,
    "[GP] Good practice": evidence_practice,
    "[CC] To choose or to compress": evidence_codes,
    "[HM] Highly multiclass classifiers": evidence_classes,
    "[LS] Large-scale learning": evidence_lecture,
}


def format_tables() -> dict[str, str]:
    """Return the parts of the page: `verdicts`, which sums up, and the `tables` of all papers.

    Of results of other runs, `verdicts` only counts them.
    """
    own = Source.folder == RESULTS
    texts = {name: "\n\n".join(module.list_parts()) for name, module in SECTIONS.items()}
    first = [table_of_main_claims(texts)] if own else []
    sections = texts.values() if own else map(keep_done, texts.values())
    parts = {"verdicts": [*first, table_of_verdicts(texts)], "tables": list(sections)}
    return {name: use_minus("\n\n".join(some)) for name, some in parts.items()}


def use_minus(text: str) -> str:
    """Return a text with minus signs before numbers, but not for the hyphen of "top-1"."""
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)


def keep_done(section: str) -> str:
    """Return a section without what has not been run, and without plots, which are of our own."""
    lines = [line for line in section.splitlines() if not line.endswith(f"| {NOT_RUN} |")]
    heading, *parts = "\n".join(lines).split("\n\n")
    done = [
        part
        for part in parts
        if not part.startswith("![")
        and not part.startswith("Not run")
        and not part.endswith("Not run.")
        and not (part.startswith("|") and part.count("\n") == 1)  # a header without rows
    ]
    return "\n\n".join([heading, *(done or ["Not run."])])


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = make_parser(__doc__)
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument("--results", type=Path, help="a folder with the results of other runs")
    options = parser.parse_args()
    if options.results is not None:
        if not any(options.results.glob("*.json")):
            sys.exit(f"{options.results} holds no results, files that end in .json.")
        Source.folder = options.results
        known = [f"{stem}.json" for stem, found in read_all().items() if "recipe" in found]
        print(f"Results of {', '.join(known) or 'no recipe'}.", file=sys.stderr)
    fill_page(options.page, format_tables())
    if options.page is None:
        return
    from evidence_plots import draw_plots

    draw_plots(options.page.parent / "images" / "evidence")


if __name__ == "__main__":
    main()
