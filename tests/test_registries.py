"""The registries of codes, signatures, descriptors and row formats.

A toy of each kind is registered here, from outside the package, and used through the command from
images or rows to a report: nothing else in the library has to know of it.
"""

import importlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from myriad.codes import CODES, Code, CodeSpec
from myriad.descriptors import DESCRIPTORS, Descriptor, DescriptorSpec, LocalDescriptors
from myriad.images import choose_glyphs, write_glyphs
from myriad.options import option, options_of
from myriad.signatures import SIGNATURES, Signature, SignatureSpec
from myriad.store import Store
from myriad.store.formats import FORMATS, RowFile

DOCS = Path(__file__).resolve().parent.parent / "docs" / "verbs"
QUICK = ("--eta", 0.1, "--beta", 1, "--epochs", 2, "--scale", "no", "--threads", 1)


@dataclass(frozen=True)
class HalfOptions:
    shrink: float = option(1.0, above=0, help="toy-half: factor of the rows.")


@dataclass(frozen=True, eq=False)
class HalfCode(Code, kind="toy-half"):
    """Rows as float16."""

    dim: int
    shrink: float

    @property
    def bytes_per_row(self):
        return 2 * self.dim

    def _encode(self, rows, codes):
        codes.view(np.float16)[:] = rows * np.float32(self.shrink)

    def _decode(self, codes, out):
        out[:] = codes.view(np.float16)
        out /= np.float32(self.shrink)


class HalfSpec(CodeSpec):
    name = "toy-half"
    description = "rows as float16"
    options = HalfOptions
    ratio = 2.0

    def learn(self, source, asked, context):
        return HalfCode(source.sample.shape[1], asked.own.shrink)


@dataclass(frozen=True, eq=False)
class ThumbnailSignature(Signature, kind="toy-thumbnail"):
    """A few grey values of the image, less their mean over images."""

    mean: np.ndarray
    side: int

    @property
    def dim(self):
        return self.side**2

    @property
    def colour(self):
        return False

    def describe(self, image):
        return shrink(image, self.side) - self.mean


def shrink(image, side):
    rows = [np.array_split(strip, side, axis=1) for strip in np.array_split(image, side)]
    return np.array([cell.mean() / 255 for row in rows for cell in row], np.float32)


@dataclass(frozen=True)
class ThumbnailOptions:
    side: int = option(6, minimum=2, maximum=64, help="toy-thumbnail: pixels a side.")


@dataclass(frozen=True)
class Shrinking:
    side: int

    def __call__(self, number, image):
        return shrink(image, self.side)


class ThumbnailSpec(SignatureSpec):
    name = "toy-thumbnail"
    description = "a few grey values"
    options = ThumbnailOptions

    def learn(self, images, asked, context):
        side = asked.own.side
        mean = np.mean(list(images.map(Shrinking(side), colour=False)), axis=0)
        return ThumbnailSignature(mean.astype(np.float32), side)


@dataclass(frozen=True, eq=False)
class CornerDescriptor(Descriptor, kind="toy-corner"):
    """The grey values of patches of 4 x 4 pixels."""

    step: int = 6

    dim = 16
    pca_dim = 6

    def describe(self, image):
        y, x = np.mgrid[0 : image.shape[0] - 3 : self.step, 0 : image.shape[1] - 3 : self.step]
        corners = np.stack([x.ravel(), y.ravel()], axis=1)
        values = np.stack([image[j : j + 4, i : i + 4].ravel() for i, j in corners])
        positions = (corners + 2) / np.array(image.shape[::-1])
        return LocalDescriptors(values.astype(np.float32) / 255, positions.astype(np.float32))


class CornerSpec(DescriptorSpec):
    name = "toy-corner"
    description = "grey values of small patches"

    def make(self, **settings):
        return CornerDescriptor(**settings)


class WordsFile(RowFile):
    """A line per row: its label and its numbers, separated by bars."""

    suffixes = (".toy",)
    description = "lines of label|number|number"
    dtype = np.dtype(np.float32)

    def __init__(self, path, rows=None):
        self.path = path
        lines = [line.split("|") for line in path.read_text().splitlines()]
        self._labels = [line[0] for line in lines]
        self._rows = np.array([line[1:] for line in lines], np.float32)
        self.n_rows, self.dim = self._rows.shape
        self.check_shape()

    @property
    def columns(self):
        return ["label"]

    def read_column(self, name):
        return pa.array(self._labels)

    def blocks(self, size):
        for start in range(0, self.n_rows, size):
            yield self._rows[start : start + size]


@pytest.fixture
def myriad(monkeypatch, capsys):
    """Register the toys, and return a function that calls the command in this process."""
    monkeypatch.setitem(CODES, "toy-half", HalfSpec())
    monkeypatch.setitem(SIGNATURES, "toy-thumbnail", ThumbnailSpec())
    monkeypatch.setitem(DESCRIPTORS, "toy-corner", CornerSpec())
    monkeypatch.setitem(FORMATS, "toy-words", WordsFile)
    before = {name: one for name, one in sys.modules.items() if name.startswith("myriad.cli")}
    forget_command()
    yield lambda *words, status=0: call(capsys, words, status)
    forget_command()
    sys.modules.update(before)  # other tests have names of these
    for name, module in before.items():
        parent, _, own = name.rpartition(".")
        setattr(sys.modules[parent], own, module)


def forget_command():
    """Let the next import build the command, and so its options, again."""
    for name in [name for name in sys.modules if name.startswith("myriad.cli")]:
        del sys.modules[name]


def call(capsys, words, status):
    main = importlib.import_module("myriad.cli.main")
    execution = importlib.import_module("myriad.cli.execution")
    found = execution.execute(main.app, [str(word) for word in words])
    printed = capsys.readouterr()
    assert found == status, printed.err
    return json.loads(printed.out) if "--json" in words and not status else printed.out


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    write_glyphs(folder, choose_glyphs(10), images=6, seed=0, splits=(0.5, 0.2, 0.3))
    return folder


def use(myriad, store, data, out):
    """Train, predict, evaluate and report; return the evaluation."""
    myriad("train", store, "--out", out, *QUICK, "--json", "-q")
    found = myriad("evaluate", out, data, "--json", "-q")
    assert found["n"] > 0
    myriad("report", out, "--json", "-q")
    return found


def test_a_code(myriad, photos, tmp_path):
    shared = ["--components", 2, "--regions", 1, "--step", 12]
    coded = tmp_path / "coded"
    found = myriad(
        "extract", photos, "--out", coded, "--codes", "toy-half", *shared, "--json", "-q"
    )
    assert found["bytes_per_row"] == 2 * found["dim"]
    use(myriad, coded, photos, tmp_path / "model")
    image = next(photos.rglob("*.png"))
    assert myriad("predict", tmp_path / "model", image, "--json", "-q")["predictions"]
    plain = tmp_path / "plain"
    myriad("extract", photos, "--out", plain, "--codes", "none", *shared, "-q")
    words = ["--codes", "toy-half", "--shrink", 0.5]
    found = myriad("compress", plain, "--out", tmp_path / "half", *words, "--json", "-q")
    assert found["code"]["kind"] == "toy-half"
    assert found["error"] < 1e-6
    assert Store.open(tmp_path / "half").code.shrink == 0.5
    use(myriad, tmp_path / "half", plain, tmp_path / "half.model")
    myriad("report", tmp_path / "half", "--json", "-q")
    words = ["--codes", "toy-half", "--ratios", 2, "--out", tmp_path / "compared", "--epochs", 1]
    found = myriad("compare", plain, *words, "--json", "-q")
    assert [row["codes"] for row in found["rows"]] == ["none", "toy-half"]
    page = " ".join(myriad("compress", "--help").split())
    assert "toy-half" in page
    assert "--shrink" in page
    myriad("compress", plain, "--out", tmp_path / "x", "--codes", "pq", "--shrink", 2, status=2)


def test_a_signature(myriad, photos, tmp_path):
    words = ["--signature", "toy-thumbnail", "--side", 5, "--codes", "none"]
    found = myriad("extract", photos, "--out", tmp_path / "s", *words, "--json", "-q")
    assert found["dim"] == 25
    use(myriad, tmp_path / "s", photos, tmp_path / "model")
    image = next(photos.rglob("*.png"))
    found = myriad("predict", tmp_path / "model", image, "--json", "-q")
    assert len(found["predictions"]) == 1
    myriad("report", tmp_path / "s", "--json", "-q")
    assert "toy-thumbnail" in myriad("extract", "--help")
    myriad("extract", photos, "--out", tmp_path / "x", "--side", 5, status=2)


def test_a_descriptor(myriad, photos, tmp_path):
    words = ["--descriptor", "toy-corner", "--components", 3, "--regions", 1, "--codes", "none"]
    found = myriad("extract", photos, "--out", tmp_path / "s", *words, "--json", "-q")
    assert found["dim"] == 2 * 3 * 6
    use(myriad, tmp_path / "s", photos, tmp_path / "model")
    assert Store.open(tmp_path / "s").recipe.descriptor.step == 6
    assert "toy-corner" in myriad("extract", "--help")


def test_a_row_format(myriad, tmp_path):
    rows = np.random.default_rng(0).standard_normal((60, 4)) + 3 * np.arange(60)[:, None] % 2
    lines = [f"{'ab'[i % 2]}|{'|'.join(map(str, row))}" for i, row in enumerate(rows)]
    path = tmp_path / "rows.toy"
    path.write_text("\n".join(lines))
    found = myriad("import", path, "--out", tmp_path / "s", "--json", "-q")
    assert (found["rows"], found["dim"]) == (60, 4)
    use(myriad, tmp_path / "s", path, tmp_path / "model")
    found = myriad("predict", tmp_path / "model", path, "--json", "-q")
    assert len(found["predictions"]) == 60


def test_the_toys_are_gone():
    assert not {"toy-half", "toy-thumbnail", "toy-corner", "toy-words"} & {
        *CODES,
        *SIGNATURES,
        *DESCRIPTORS,
        *FORMATS,
    }


@pytest.mark.parametrize("registry", [CODES, SIGNATURES, DESCRIPTORS], ids=lambda r: next(iter(r)))
def test_entries_are_complete(registry):
    for name, spec in registry.items():
        assert spec.name == name
        assert spec.description
        assert not spec.description.endswith(".")


@pytest.mark.parametrize("registry", [CODES, SIGNATURES], ids=["codes", "signatures"])
def test_an_option_means_the_same_for_all_that_have_it(registry):
    found = {}
    for spec in registry.values():
        for name, known in options_of(spec.options).items():
            assert found.setdefault(name, known) == known


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("compress", list(CODES)),
        ("extract", [spec.word for spec in SIGNATURES.values()]),
        ("extract", list(DESCRIPTORS)),
        ("import", [suffix for kind in FORMATS.values() for suffix in kind.suffixes]),
    ],
)
def test_the_documentation_names_every_entry(page, words):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    assert [word for word in words if f"`{word}`" not in text and f"{word}`" not in text] == []
