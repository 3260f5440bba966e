"""Numbers in the sentences of the README are those of the files in ``benchmarks/results``."""

import json
import re
from collections.abc import Iterator
from statistics import mean, stdev
from typing import Any

from tests.docs.pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = ROOT / "benchmarks" / "results"


def find_dictionaries(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, dict):
        yield content
    if isinstance(content, dict | list):
        for inner in content.values() if isinstance(content, dict) else content:
            yield from find_dictionaries(inner)


def test_times_are_measured() -> None:
    measured = json.loads((RESULTS / "signatures.json").read_text())["milliseconds"].values()
    stated = {int(number) for number in re.findall(r"(\d+) ms\b", README)}
    assert stated
    assert stated <= {round(value) for value in measured}


def test_means_and_deviations_are_measured() -> None:
    found = {
        (f"{entry['mean']:.1f}", f"{entry['deviation']:.1f}")
        for path in RESULTS.glob("*.json")
        for entry in find_dictionaries(json.loads(path.read_text()))
        if isinstance(entry.get("mean"), float) and isinstance(entry.get("deviation"), float)
    }
    for arms in json.loads((RESULTS / "photographs.json").read_text())["cells"].values():
        values = [cell["accuracy"] for cell in arms.get("auto", {}).values()]
        if len(values) > 1:
            found.add((f"{mean(values):.1f}", f"{stdev(values):.1f}"))
    stated = set(re.findall(r"(\d+\.\d) ± (\d+\.\d) %", README))
    assert stated
    assert stated <= found
