"""The reference is that of the docstrings, and names everything that is public."""

import myriad
from tests.docs.api_reference import PAGE, link, read_docstring, write_page


def test_the_page_is_derived_from_the_docstrings():
    shown = PAGE.read_text(encoding="utf-8")
    assert shown == write_page(), "python -m tests.docs.refresh --options writes it"


def test_every_public_name_has_a_heading_and_a_text():
    page = write_page()
    for name in myriad.__all__:
        body = page.split(f"### myriad.{name} {{")[1].split("\n### ")[0]
        assert len(body.strip().splitlines()) > 2, name


def test_a_docstring_is_read_by_sections():
    found = read_docstring(
        """Return what is asked.

        Parameters
        ----------
        a, b : two numbers,
            of any size.
        c : another.
        """
    )
    assert found.text == "Return what is asked."
    assert found.sections["Parameters"] == [
        ("a, b", "two numbers, of any size."),
        ("c", "another."),
    ]


def test_public_names_are_linked():
    assert link("See `LinearSGD` and ``X``.") == "See [`LinearSGD`](#linearsgd) and `X`."
