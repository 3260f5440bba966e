from __future__ import annotations

import json
import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from myriad.errors import InputError, WorkError
from myriad.progress import Progress
from myriad.report import write_report
from myriad.report.evidence import Evidence, Trial
from myriad.report.page import embed_json
from tests.report.invention import draw_image, invent_evidence
from tests.report.markup import Markup

HOSTILE = [
    "<script>document.title='owned'</script>",
    "</script><img src=x onerror=\"document.title='owned'\">",
    "\"'><svg onload=alert(1)>",
    "two\nlines\tand\x00\x1b",
    "été – Ωμέγα – 漢字 – 🦜",
    "\u202eright to left",
    "undecodable \udcff",
    "javascript:alert(1)",
    "&amp; {{ 7*7 }} {% raw %} ${1} %s",
    "-->]]>\u2028\u2029",
    "x" * 2000,
    "",
]


def make_page(evidence: dict[str, Any], folder: Path, read_image: Any = draw_image) -> str:
    path = folder / "report.html"
    write_report(evidence, path, read_image=read_image)
    assert [item.name for item in folder.iterdir()] == ["report.html"]
    return path.read_text(encoding="utf-8")


def rename_classes(evidence: dict[str, Any], names: list[str]) -> None:
    new = {item["name"]: name for item, name in zip(evidence["classes"], names, strict=True)}
    for item in evidence["classes"]:
        item["name"] = new[item["name"]]
        for other in item["taken_for"]:
            other["name"] = new[other["name"]]
    for pair in evidence["pairs"]:
        pair["truth"], pair["guess"] = new[pair["truth"]], new[pair["guess"]]


def invent_hostile() -> dict[str, Any]:
    evidence = invent_evidence(len(HOSTILE))
    rename_classes(evidence, HOSTILE)
    for key in ("title", "split", "created", "data"):
        evidence[key] = HOSTILE[0]
    evidence["settings"] = {HOSTILE[0]: {HOSTILE[1]: HOSTILE[2]}, "list": HOSTILE}
    evidence["environment"] = {HOSTILE[1]: HOSTILE[0]}
    evidence["search"] = [{HOSTILE[0]: i, "text": HOSTILE[1], "top1": 5.0 * i} for i in range(3)]
    evidence["bad"] = [{"path": name, "reason": name} for name in HOSTILE]
    return evidence


def list_missing(evidence: dict[str, Any]) -> None:
    """Take away what a first, tiny, perfect model has not got."""
    evidence.update(history=[], search=[], pairs=[], bad=[])
    for item in evidence["classes"]:
        item.update(top1=100.0, top5=100.0, taken_for=[])
    perfect = dict.fromkeys(("top1", "top5", "class_top1", "class_top5"), 100.0)
    at = {str(k): 100.0 for k in range(1, 11)}
    evidence["measures"].update(perfect, accuracy_at=at, bad=0)


@pytest.mark.parametrize("n_classes", [2, 15, 200])
def test_page_is_balanced_and_asks_for_nothing(n_classes: int, tmp_path: Path) -> None:
    page = make_page(invent_evidence(n_classes), tmp_path)
    markup = Markup(page)
    plain = re.sub(r'"data:image/jpeg;base64,[^"]*"', '""', page)
    for word in ("http:", "https:", "//", "@import", "url(", "<link", "<iframe"):
        assert word not in plain
    for tag, attributes in markup.elements:
        for name in ("src", "href", "srcset", "poster", "data", "action"):
            address = attributes.get(name)
            assert address is None or address.startswith(("#", "data:image/jpeg;base64,")), tag
    assert all(image.get("alt") for image in markup.find("img"))
    assert all(plot.get("aria-label") for plot in markup.find("svg", **{"class": "plot"}))
    ids = [attributes["id"] for _, attributes in markup.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in markup.find("a"):
        place = (link["href"] or "").partition("?")[0]
        assert place[1:] in ids


def test_every_section_is_there(tmp_path: Path) -> None:
    evidence = invent_evidence(200)
    evidence["ceiling"] = 97.3
    evidence["measures"].update(unknown=2, top1=71.2)
    markup = Markup(make_page(evidence, tmp_path))
    sections = [section["id"] for section in markup.find("section")]
    assert sections == ["accuracy", "extremes", "confused", "classes", "search", "settings", "bad"]
    plots = markup.find("svg", **{"class": "plot"})
    assert len(plots) == 6  # at k, learning curve, histogram, by training images, eta, beta
    cards = markup.find("li", **{"class": "card"}), markup.find("li", **{"class": "card pair"})
    assert [len(kind) for kind in cards] == [24, 24]
    text = markup.read()
    for words in (
        "Accuracy on the validation split",
        "top-1, over samples 71.2 % 95 % interval 69.2 to 73.1 %",
        "top-5, mean over classes",
        "No model can exceed 97.3 % top-1",
        "2 images of classes that the model does not know count as wrong",
        "signature.gaussians 128",
        "train/rose/2.jpg the file ends too early",
        "15 November 2026, 12:00 UTC",
        "classifier of 12.3 MB",
    ):
        assert words in text


def test_embeddings_are_called_rows(tmp_path: Path) -> None:
    evidence = invent_evidence(30) | {"noun": "row", "bad": []}
    evidence["measures"]["bad"] = 0
    page = make_page(evidence, tmp_path, lambda path: None)
    seen = re.sub(r"<(script|style|svg) ?.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert "rows" in seen
    assert not re.findall(r"\bimages?\b", seen.lower())


def test_several_labels_an_image(tmp_path: Path) -> None:
    evidence = invent_evidence(30)
    rates = {"precision": 60.0, "recall": 50.0, "f1": 54.5}
    evidence["measures"]["map"] = 55.5
    evidence["labels"] = {"micro": rates, "macro": rates, "given": 1.5, "present": 1.8}
    evidence["labels"] |= {"calibration_error": 0.01, "brier": 0.1, "log_loss": 0.3}
    for i, item in enumerate(evidence["classes"]):
        item |= {"average_precision": 3.0 * i, **rates}
    markup = Markup(make_page(evidence, tmp_path))
    text = markup.read()
    for words in (
        "mean average precision 55.5 %",
        "F1, macro average 54.5 %",
        "Labels per image: 1.80 present, 1.50 assigned",
        "lowest average precision",
    ):
        assert words in text
    keys = [head["data-key"] for head in markup.find("th") if "data-key" in head]
    assert keys == ["name", "train", "n", "average_precision", "precision", "recall", "f1"]
    evidence["labels"] = None
    assert "it assigns no labels" in Markup(make_page(evidence, tmp_path)).read()


def test_hostile_strings_stay_text(tmp_path: Path) -> None:
    page = make_page(invent_hostile(), tmp_path)
    markup = Markup(page)
    assert len(markup.find("script")) == 2  # the table's data and our own
    assert not any(name.startswith("on") for _, found in markup.elements for name in found)
    assert all((image["src"] or "").startswith("data:image/jpeg") for image in markup.find("img"))
    assert HOSTILE[0] in markup.read()
    assert "two↵lines⇥and\ufffd\ufffd" in markup.read()
    assert "undecodable \ufffd" in markup.read()
    assert "{{ 7*7 }}" in markup.read()
    shown = next(text for tag, text in markup.texts if tag == "script" and text.startswith("[["))
    names = [row[0] for row in json.loads(shown)]
    assert names[:3] == HOSTILE[:3]
    assert all(len(name) <= 300 for name in names)
    policy = markup.find("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"] or ""
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_json_block_cannot_be_left() -> None:
    block = embed_json(HOSTILE[:6] + HOSTILE[7:])
    assert not set("<>&\u2028\u2029") & set(block)
    assert json.loads(block) == HOSTILE[:6] + HOSTILE[7:]


def test_few_classes_all_right(tmp_path: Path) -> None:
    evidence = invent_evidence(2)
    list_missing(evidence)
    markup = Markup(make_page(evidence, tmp_path, read_image=lambda path: None))
    text = markup.read()
    assert "all images of all classes were classified correctly" in text
    assert "No confusion was recorded" in text
    assert "With 2 classes this is not informative" in text
    assert len(markup.find("svg", **{"class": "plot"})) == 1
    assert len(markup.find("li", **{"class": "card"})) == 2
    assert not markup.find("section", id="search")
    assert not markup.find("section", id="bad")
    assert "nan" not in text.lower()


def test_classes_without_images_have_no_accuracy(tmp_path: Path) -> None:
    evidence = invent_evidence(8)
    evidence["classes"][3].update(n=0, top1=0.0, top5=0.0, taken_for=[])
    evidence["classes"][4].update(n=0, top1=None, top5=None, taken_for=[])
    markup = Markup(make_page(evidence, tmp_path))
    assert "2 classes have no validation image" in markup.read()
    rows = json.loads(next(text for _, text in markup.texts if text.startswith("[[")))
    assert [row[3] for row in rows[3:5]] == [None, None]
    cards = [link["title"] for link in markup.find("a", **{"class": "name"})]
    assert "class 0003" not in cards[:1]
    assert markup.find("svg", **{"class": "plot"})


@pytest.mark.parametrize("kind", ["none", "error", "float", "empty", "grey"])
def test_missing_images_leave_a_neat_gap(kind: str, tmp_path: Path) -> None:
    def read_image(path: str) -> Any:
        if kind == "error":
            raise OSError("gone")
        return {
            "none": None,
            "float": np.zeros((4, 4), np.float32),
            "empty": np.zeros((0, 4), np.uint8),
            "grey": np.zeros((4, 4), np.uint8),
        }[kind]

    markup = Markup(make_page(invent_evidence(15), tmp_path, read_image))
    placeholders = [item for item in markup.find("span") if "missing" in (item.get("class") or "")]
    assert bool(markup.find("img")) == (kind == "grey")
    assert bool(placeholders) == (kind != "grey")
    assert all(item["role"] == "img" and item["aria-label"] for item in placeholders)
    (body,) = markup.find("body")
    assert (body.get("class") == "no-pictures") == (kind != "grey")


def test_page_of_two_thousand_classes_is_small(tmp_path: Path) -> None:
    def read_noise(path: str) -> Any:
        noise = np.random.default_rng(len(path)).integers(0, 256, (96, 96, 3))
        return noise.astype(np.uint8)  # nothing is larger as JPEG

    evidence = invent_evidence(2000, per_class=5)
    assert len(make_page(evidence, tmp_path, read_noise)) < 3_000_000
    assert len(make_page(evidence, tmp_path)) < 1_000_000


def test_only_shown_images_are_read_and_each_once(tmp_path: Path) -> None:
    asked: list[str] = []

    def read_image(path: str) -> Any:
        asked.append(path)
        return draw_image(path)

    make_page(invent_evidence(2000), tmp_path, read_image)
    assert 48 <= len(asked) <= 24 * 4 + 24 * 2
    sizes = {path: asked.count(path) for path in asked}
    assert max(sizes.values()) <= 2  # once a size


def test_equal_numbers_of_training_images_are_not_plotted(tmp_path: Path) -> None:
    markup = Markup(make_page(invent_evidence(30, even=True), tmp_path))
    assert "Every class was trained on 40 images." in markup.read()
    assert len(markup.find("svg", **{"class": "plot"})) == 5


def test_bare_measures_suffice(tmp_path: Path) -> None:
    page = make_page({"measures": {}}, tmp_path)
    assert "No image was evaluated" in Markup(page).read()


def test_many_bad_images_are_collapsed(tmp_path: Path) -> None:
    evidence = invent_evidence(15)
    assert "open" in Markup(make_page(evidence, tmp_path)).find("details")[-1]
    evidence["bad"] = [{"path": f"{i}.jpg", "reason": "not an image"} for i in range(1200)]
    markup = Markup(make_page(evidence, tmp_path))
    assert "open" not in markup.find("details")[-1]
    assert "1,200 × not an image" in markup.read()
    assert "999.jpg" in markup.read()
    assert "1000.jpg" not in markup.read()


def test_progress_counts_every_card(tmp_path: Path) -> None:
    class Counting(Progress):
        total = done = 0

        @contextmanager
        def step(self, title: str, total: int | None = None, unit: str = "") -> Any:
            self.total = total or 0

            def advance(n: int) -> None:
                self.done += n

            yield advance

    progress = Counting()
    path = tmp_path / "r.html"
    write_report(invent_evidence(30), path, read_image=draw_image, progress=progress)
    assert progress.total == progress.done == 48


def test_place_that_cannot_be_written(tmp_path: Path) -> None:
    evidence = invent_evidence(2)
    with pytest.raises(InputError, match="name a file"):
        write_report(evidence, tmp_path, read_image=draw_image)
    with pytest.raises(InputError, match="name a file"):
        write_report(evidence, tmp_path / "no" / "r.html", read_image=draw_image)
    with pytest.raises(WorkError, match="could not be written"):
        write_report(evidence, tmp_path / ("r" * 300), read_image=draw_image)
    assert not list(tmp_path.iterdir())


def test_a_long_search_is_ranked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranking the trials for each of them takes a minute for a thousand."""
    evidence = invent_evidence(10)
    evidence["search"] = [{"eta": 0.1 * i, "top1": 5.0 + i} for i in range(40)]
    asked, chosen = [], Evidence.chosen.fget

    def count(evidence: Evidence) -> Trial | None:
        asked.append(1)
        return chosen(evidence)

    monkeypatch.setattr(Evidence, "chosen", property(count))
    make_page(evidence, tmp_path)
    assert 0 < len(asked) < 5


def test_accuracies_of_the_search_are_no_settings(tmp_path: Path) -> None:
    evidence = invent_evidence(5)
    evidence["search"] = [
        {"eta": eta, "top1": 90.0 + eta, "top5": 95.0 + eta} for eta in (1.0, 2.0)
    ]
    path = tmp_path / "report.html"
    write_report(evidence, path, read_image=draw_image)
    text = path.read_text(encoding="utf-8")
    assert ">top5<" not in text
    table = text.split("Table of settings tried")[1].split("</table>")[0]
    assert re.findall(r"<th[^>]*>([^<]+)<", table) == ["eta", "top-1", "top-5"]
    assert "97.00\xa0%" in table
