"""The section of a report on a coded store."""

from __future__ import annotations

import numpy as np

from myriad.codes import learn_bits, learn_scalar
from myriad.report.code_section import make_code_section

ROWS = np.random.default_rng(0).standard_normal((20, 40)).astype(np.float32)


def test_chosen_features_are_told_and_drawn():
    information = np.array([3.0] * 10 + [1.0] * 10 + [0.0] * 20)
    section = make_code_section(learn_bits(ROWS, n_bits=16, information=information))
    told = section.sentence.replace("\u00a0", " ")
    assert "The 16 features that are kept carry 90.0 %" in told
    assert "the best 25 % carry 75.0 %" in told
    assert len(section.plots) == 2
    assert ("Times smaller than float32", "80") in section.facts


def test_a_code_without_information_has_facts_only():
    for code in (learn_scalar(ROWS), learn_bits(ROWS)):
        section = make_code_section(code)
        assert section.plots == []
        assert ("Code", code.kind) in section.facts


def test_the_report_of_a_store_shows_the_choice(tmp_path):
    from myriad.codes import CodeOptions
    from myriad.pipelines.compress import compress
    from myriad.pipelines.store_inspection import inspect_store
    from myriad.report.store_page import render_store_report
    from tests.pipelines.test_compress import write_store

    plain = write_store(tmp_path / "s")
    store = compress(plain, tmp_path / "bits", options=CodeOptions("bits", 64)).store
    page = render_store_report(inspect_store(store, read_picture=lambda *a, **k: None))
    assert "Choice of features" in page
    assert "of the mutual information of all features" in page
