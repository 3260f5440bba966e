"""A strict look at HTML: every element closed, in order; what is in it."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr", "input", "wbr"}


class Markup(HTMLParser):
    """The elements, attributes and texts of a page; raises if elements are not balanced."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {tag} {attrs}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        opened = self.open.pop()
        assert opened == tag, f"</{tag}> closes <{opened}> at {self.getpos()}"

    def handle_data(self, data: str) -> None:
        where = self.open[-1] if self.open else ""
        if self.texts and self.elements[-1][0] == "wbr" and self.texts[-1][0] == where:
            data = self.texts.pop()[1] + data  # a place to break a word is within a text
        self.texts.append((where, data))

    def find(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        """Return the attributes of all elements of a tag that have these attributes."""
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key) == value for key, value in attributes.items())
        ]

    def read(self, *, scripts: bool = False) -> str:
        """Return the text of the page with single spaces; of scripts and styles only if asked."""
        parts = (text for tag, text in self.texts if scripts or tag not in ("script", "style"))
        return " ".join(" ".join(parts).split())
