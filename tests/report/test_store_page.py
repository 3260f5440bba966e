"""The report of a store: its sections, plots and drawings, also of hostile names."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from myriad.codes import CodeOptions, learn_bits, learn_scalar
from myriad.errors import InputError
from myriad.pipelines.stores.compress import compress
from myriad.pipelines.stores.inspection import Patch, StoreInspection, inspect_store
from myriad.pipelines.stores.statistics import correlate, spread_values
from myriad.report import write_store_report
from myriad.report.plots import draw_colours, draw_gradients
from myriad.report.store_page import SECTIONS, render_store_report, show_code
from myriad.vocabularies import PCA
from tests.pipelines.stores.test_compress import write_store
from tests.report.browser import needs_browser, open_page
from tests.report.markup import Markup
from tests.report.test_page import HOSTILE

ROWS = np.random.default_rng(0).standard_normal((20, 40)).astype(np.float32)


def invent_anatomy(n_rows: int = 300) -> StoreInspection:
    draws = np.random.default_rng(0)
    rows = draws.standard_normal((n_rows, 40)).astype(np.float32)
    variances = np.linspace(5, 0.1, 12).astype(np.float32)
    pca = PCA(np.zeros(20, np.float32), np.eye(12, 20, dtype=np.float32), variances, False, 40.0)
    weights = draws.dirichlet(np.ones(30)).astype(np.float32)
    correlation = correlate(rows)
    assert correlation is not None
    noise = draws.integers(0, 256, (40, 30, 3)).astype(np.uint8)
    descriptor = draws.random(128).astype(np.float32), draws.random(96).astype(np.float32)
    return StoreInspection(
        title="photos.store",
        created="2026-11-15T12:00:00+00:00",
        n_rows=n_rows,
        n_classes=2,
        dim=40,
        bytes_per_row=5,
        coded=True,
        bad=({"path": "a/b.jpg", "reason": "truncated JPEG"},),
        patches=(
            Patch("rose", noise, *descriptor),
            Patch("lily", noise, descriptor[0], None),
            Patch("oak", noise, None, descriptor[1]),
        ),
        pca=pca,
        mixture_weights=weights,
        values=spread_values(rows, np.arange(40), power=0.5),
        correlations={"any two": correlation, "of the same Gaussian": correlation},
        settings={"extraction": {"signature": "fisher"}},
        code=learn_bits(rows, n_bits=16, information=draws.random(40)),
    )


def test_every_section_is_there() -> None:
    page = render_store_report(invent_anatomy())
    markup = Markup(page)
    sections = [section["id"] for section in markup.find("section")]
    shown = ["patches", "components", "gaussians", "values", "correlations", "code"]
    assert sections == [*shown, "settings", "bad"]
    assert len(shown) == len(SECTIONS)
    assert len(markup.find("svg", **{"class": "plot"})) == 2 + 1 + 1 + 6 + 2 + 2
    assert len(markup.find("svg", **{"class": "plot drawing"})) == 4
    text = markup.read()
    for words in (
        "photos.store",
        "300 rows",
        "32 times smaller than float32",
        "Descriptors of 20 numbers are projected to 12.",
        "30 Gaussians share the descriptors",
        "with the power of 0.5 undone",
        "Rows are read from their codes",
        "Pairs of the same Gaussian",
        "780 pairs",
        "extraction.signature fisher",
        "a/b.jpg truncated JPEG",
    ):
        assert words in text


def test_page_is_balanced_and_asks_for_nothing() -> None:
    page = render_store_report(invent_anatomy())
    markup = Markup(page)
    plain = re.sub(r'"data:image/jpeg;base64,[^"]*"', '""', page)
    for word in ("http:", "https:", "//", "@import", "url(", "<link", "<iframe"):
        assert word not in plain
    ids = [attributes["id"] for _, attributes in markup.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all((link["href"] or "")[1:] in ids for link in markup.find("a"))
    assert all(image.get("alt") for image in markup.find("img"))
    assert "default-src 'none'" in page


def test_a_store_of_which_little_is_known() -> None:
    bare = replace(
        invent_anatomy(),
        patches=(),
        pca=None,
        mixture_weights=None,
        values=None,
        correlations={},
        bad=(),
        settings={},
        coded=False,
        code=None,
    )
    markup = Markup(render_store_report(bare))
    assert [section["id"] for section in markup.find("section")] == ["settings"]
    assert "None were recorded" in markup.read()


def test_hostile_strings_stay_text() -> None:
    inspection = invent_anatomy()
    patch = replace(inspection.patches[0], label=HOSTILE[0])
    bad = tuple({"path": name, "reason": name} for name in HOSTILE)
    hostile = replace(inspection, title=HOSTILE[1], patches=(patch,), bad=bad)
    markup = Markup(render_store_report(replace(hostile, settings={HOSTILE[0]: HOSTILE[1]})))
    assert len(markup.find("script")) == 1
    assert not any(name.startswith("on") for _, found in markup.elements for name in found)
    assert HOSTILE[0] in markup.read()


def test_whole_or_not_at_all(tmp_path: Path) -> None:
    write_store_report(invent_anatomy(), tmp_path / "r.html")
    assert [item.name for item in tmp_path.iterdir()] == ["r.html"]
    for place in (tmp_path, tmp_path / "none" / "r.html"):
        with pytest.raises(InputError, match="report cannot be written"):
            write_store_report(invent_anatomy(), place)


def test_a_ray_points_where_the_picture_gets_brighter() -> None:
    values = np.zeros(128)
    values[(1 * 4 + 2) * 8 + 2] = 1.0  # second row, third column, downwards
    drawing = Markup(str(draw_gradients(values)))
    (ray,) = drawing.find("line", **{"class": "ray"})
    x1, y1, x2, y2 = (float(ray[name] or 0) for name in ("x1", "y1", "x2", "y2"))
    assert (x1, y1) == (62.5, 37.5)
    assert abs(x2 - x1) < 1e-3
    assert y2 > y1 + 10


def test_a_tile_has_the_mean_colour() -> None:
    values = np.zeros((4, 4, 2, 3))
    values[0, 1, 0] = 1.0, 0.5, 0.0
    tiles = Markup(str(draw_colours(values.ravel()))).find("rect")
    assert len(tiles) == 16
    assert tiles[1]["fill"] == "rgb(255,128,0)"


@needs_browser
def test_a_browser_shows_it_without_complaint(tmp_path: Path) -> None:
    write_store_report(invent_anatomy(), tmp_path / "r.html")
    document, said = open_page(tmp_path / "r.html", tmp_path / "profile")
    assert said == []
    assert "Correlation of features" in document


def test_features_that_a_code_chose_are_described_and_drawn():
    information = np.array([3.0] * 10 + [1.0] * 10 + [0.0] * 20)
    code = learn_bits(ROWS, n_bits=16, information=information)
    section = show_code(replace(invent_anatomy(), code=code))
    lead = section.lead.replace("\u00a0", " ")
    assert "The 16 features that are kept carry 90.0 %" in lead
    assert "the best 25 % carry 75.0 %" in lead
    assert len(section.panels) == 2


def test_a_code_without_information_has_no_section():
    for code in (None, learn_scalar(ROWS), learn_bits(ROWS)):
        assert show_code(replace(invent_anatomy(), code=code)) is None


def test_the_report_of_a_store_shows_the_choice(tmp_path):
    plain = write_store(tmp_path / "s")
    store = compress(plain, tmp_path / "bits", options=CodeOptions("bits", 64)).store
    page = render_store_report(inspect_store(store, read_picture=lambda *a, **k: None))
    assert "Choice of features" in page
    assert "of the mutual information of all features" in page
