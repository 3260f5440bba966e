"""The page of the Python reference, derived from docstrings and annotations.

``python -m tests.docs.refresh --options`` writes it, with the tables of options. It is plain
Markdown, so that it needs no plugin of the program that builds the site.
"""

import inspect
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import myriad
from tests.docs.pages import DOCS

PAGE = DOCS / "api.md"
GROUPS = {
    "Classifiers": (
        "LinearClassifier LinearSGD TopKSVM DualSVM Wsabie TraceNormClassifier NearestMeans"
    ),
    "Trained models": "load Classifier",
    "Images to rows": "Backbone FisherVector BagOfVisualWords VLAD DenseSIFT LocalColour",
    "Codes": "ProductQuantizer SignBits BilinearCodes ScalarQuantizer",
    "Stores": "Store",
    "Plots": "plots",
    "Errors": "MyriadError InputError WorkError BadImage",
}
HEAD = """# Python reference

All public names, from their docstrings. Names that are not on this page may change without notice.
[Python](python.md) shows how they are used, and the [gallery](gallery.md) what they draw.

"""
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\S[^\n:]*) : ", re.MULTILINE)
_CODE = re.compile(r"``([^`]+)``|`([^`\n]+)`")


@dataclass
class Docstring:
    """A docstring: its text, and the entries of its sections by name."""

    text: str
    sections: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


def read_docstring(source: str | None) -> Docstring:
    """Return the parts of a NumPy docstring whose entries are ``name : text``."""
    parts = _SECTION.split(inspect.cleandoc(source or ""))
    found = Docstring(parts[0].strip())
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        pieces = _ENTRY.split(body)
        found.sections[title] = [
            (name, " ".join(text.split()))
            for name, text in zip(pieces[1::2], pieces[2::2], strict=True)
        ]
    return found


def write_page() -> str:
    """Return the text of the page."""
    named = [name for names in GROUPS.values() for name in names.split()]
    missing = set(myriad.__all__) ^ set(named)
    assert not missing, f"GROUPS and myriad.__all__ differ: {', '.join(sorted(missing))}"
    lines = []
    for title, names in GROUPS.items():
        listed = " · ".join(f"[`{name}`](#{anchor(name)})" for name in names.split())
        lines += [f"## {title}", "", listed, ""]
        for name in names.split():
            lines += describe(name, getattr(myriad, name))
    return HEAD + "\n".join(lines).rstrip() + "\n"


def describe(name: str, thing: Any) -> Iterator[str]:
    """Yield the lines of a public name."""
    yield from [f"### myriad.{name} {{#{anchor(name)}}}", ""]
    if isinstance(thing, types.ModuleType):
        yield from [link(read_docstring(thing.__doc__).text.partition("\n\n")[0]), ""]
        for inner in thing.__all__:
            yield from [f"#### {name}.{inner} {{#{anchor(f'{name}-{inner}')}}}", ""]
            yield from describe_call(f"{name}.{inner}", getattr(thing, inner))
    elif isinstance(thing, type):
        yield from describe_class(name, thing)
    else:
        yield from describe_call(name, thing)


def describe_class(name: str, kind: type) -> Iterator[str]:
    """Yield the lines of a class: its parameters, its attributes and its methods."""
    found = read_docstring(kind.__doc__)
    is_error = issubclass(kind, Exception)
    if not is_error and name not in {"Store", "Classifier"}:
        yield from write_signature(name, inspect.signature(kind))
    yield from [link(found.text), ""]
    stated = {} if is_error else dict(inspect.signature(kind).parameters)
    yield from write_entries("Parameters", found, stated)
    yield from write_entries("Attributes", found, {})
    methods = list_methods(kind)
    if methods:
        yield from ["**Methods**", ""]
    for method, function in methods.items():
        summary = read_docstring(function.__doc__).text.partition("\n\n")[0]
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.name != "self"]
        shown = signature.replace(parameters=own)
        yield f"- `{method}{write_call(shown)}`: {link(' '.join(summary.split()))}"
    yield ""


def describe_call(name: str, function: Any) -> Iterator[str]:
    """Yield the lines of a function."""
    found = read_docstring(function.__doc__)
    signature = inspect.signature(function)
    yield from write_signature(name, signature)
    yield from [link(found.text), ""]
    yield from write_entries("Parameters", found, dict(signature.parameters))


def list_methods(kind: type) -> dict[str, Any]:
    """Return the public methods that myriad defines, those of base classes first."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.split(".")[0] != "myriad":
            continue
        for name, value in vars(base).items():
            value = getattr(value, "fn", value)  # what is available only after `fit`
            value = getattr(value, "__func__", value)
            if not name.startswith("_") and inspect.isfunction(value) and value.__doc__:
                found[name] = value
    return dict(sorted(found.items()))


def write_signature(name: str, signature: inspect.Signature) -> Iterator[str]:
    """Yield a call with all parameters, a line each if there are many."""
    one = f"{name}{write_call(signature)}"
    if len(one) > 90:
        inside = ",\n    ".join(write_parts(signature))
        one = f"{name}(\n    {inside},\n){write_return(signature)}"
    yield from ["```text", *one.splitlines(), "```", ""]


def write_call(signature: inspect.Signature) -> str:
    """Return the parameters of a call with types and defaults, and what it returns."""
    return f"({', '.join(write_parts(signature))}){write_return(signature)}"


def write_parts(signature: inspect.Signature) -> list[str]:
    """Return the parameters, each with its type and default."""
    parts, starred = [], False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        part = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "") + one.name
        if one.annotation is not one.empty:
            part += f": {write_type(one.annotation)}"
        if one.default is not one.empty:
            default = f'"{one.default}"' if isinstance(one.default, str) else repr(one.default)
            part += f" = {default}"
        parts.append(part)
    return parts


def write_return(signature: inspect.Signature) -> str:
    found = signature.return_annotation
    return "" if found in (signature.empty, None, "None") else f" -> {write_type(found)}"


def write_type(annotation: Any) -> str:
    """Return an annotation as it stands in the source, where it is text."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def write_entries(
    title: str, found: Docstring, stated: dict[str, inspect.Parameter]
) -> Iterator[str]:
    """Yield the entries of a section as a list, with their types where these are annotated."""
    entries = found.sections.get(title, [])
    if not entries:
        return
    yield from [f"**{title}**", ""]
    for names, text in entries:
        kinds = {
            write_type(stated[one].annotation)
            for one in names.split(", ")
            if one in stated and stated[one].annotation is not inspect.Parameter.empty
        }
        kind = f" (`{kinds.pop()}`)" if len(kinds) == 1 else ""
        shown = ", ".join(f"`{one}`" for one in names.split(", "))
        yield f"- {shown}{kind}: {link(text)}"
    yield ""


def anchor(name: str) -> str:
    """Return the anchor of a name on the page."""
    return name.lower().replace(".", "-")


def link(text: str) -> str:
    """Return text with code marked, and public names linked."""

    def mark(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        name = code.removeprefix("myriad.").partition("(")[0]
        return f"[`{code}`](#{anchor(name)})" if name in myriad.__all__ else f"`{code}`"

    return _CODE.sub(mark, text.replace("::\n", ":\n"))
