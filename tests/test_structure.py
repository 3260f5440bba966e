"""The structure of the source tree: order of imports, and the size of files and kernels."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "myriad"

BASE = {"errors", "progress", "files", "serialisation", "arrays", "products", "tiles", "panels"}
BASE |= {"_jit", "arrow", "kernel_cache", "largest", "lazy", "locks", "options", "randomness"}
BASE |= {"byte_tiles", "urls", "version"}
PACKAGES = [
    "parallel",
    "measures",
    "images",
    "descriptors",
    "vocabularies",
    "signatures",
    "codes",
    "store",
    "projections",
    "objectives",
    "models",
    "training",
    "checks",
    "estimators",
    "plots",
    "pipelines",
    "report",
    "serving",
    "cli",
]
LEVELS = dict.fromkeys(BASE, 0) | {name: 1 + level for level, name in enumerate(PACKAGES)}
PARTS = {
    "models": [
        "ranking screening",
        "calibration",
        "model linear rounded merged coded factored cells embedding neighbours class_weights",
        "class_pictures folder",
        "decisions explanations onnx_graph",
    ],
    "pipelines": [
        "run outputs workers compiling",
        "describing",
        "stores",
        "evidence",
        "predicting",
        "checking",
        "training",
        "updating",
        "planning",
        "installation warm_up demo",
    ],
}
"""Modules and sub-packages of a package by levels: none imports one of a later level."""
PART_LEVELS = {
    package: {part: level for level, parts in enumerate(levels) for part in parts.split()}
    for package, levels in PARTS.items()
}

EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
FILE_LINES = 400
KERNEL_LINES = 40
KERNEL_ARGUMENTS = 10

FILES = sorted(PACKAGE.rglob("*.py"))


def find_bad_imports(source: str, package: str) -> list[str]:
    """Return the invalid imports of a file of `package`, wherever in the file they are."""
    faults = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            faults.append(f"line {node.lineno}: relative import")
        elif isinstance(node, ast.Name | ast.Attribute) and name_of(node) in {
            "__import__",
            "import_module",
        }:
            faults.append(f"line {node.lineno}: import by {name_of(node)}")
        for target in imported_packages(node):
            if target not in LEVELS:
                faults.append(
                    f"line {node.lineno}: imports {target or 'myriad'}, which is not in the list"
                )
            elif LEVELS[target] > LEVELS[package]:
                faults.append(f"line {node.lineno}: {package} imports {target}, which is below it")
    return faults


def imported_packages(node: ast.AST) -> list[str]:
    """Return the sub-packages of myriad that a statement imports ("" for myriad itself)."""
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module == "myriad":
        modules = [f"myriad.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [node.module or ""]
    else:
        return []
    paths = [module.split(".") for module in modules]
    return [path[1] if len(path) > 1 else "" for path in paths if path[0] == "myriad"]


def find_bad_parts(source: str, package: str, part: str) -> list[str]:
    """Return the imports of a file in `part` of `package` that go against the levels of `PARTS`."""
    levels = PART_LEVELS[package]
    faults = []
    for node in ast.walk(ast.parse(source)):
        for target in imported_parts(node, package):
            if target not in levels:
                faults.append(f"line {node.lineno}: imports {target}, which is not in the list")
            elif levels[target] > levels[part]:
                faults.append(f"line {node.lineno}: {part} imports {target}, which is below it")
    return faults


def imported_parts(node: ast.AST, package: str) -> list[str]:
    """Return the modules and sub-packages of `package` that a statement imports."""
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module == f"myriad.{package}":
        modules = [f"{node.module}.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [node.module or ""]
    else:
        return []
    paths = [module.split(".") for module in modules]
    return [path[2] for path in paths if path[:2] == ["myriad", package] and len(path) > 2]


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def find_kernels(source: str) -> list[ast.FunctionDef]:
    """Return the functions decorated with a name that comes from `myriad._jit`."""
    tree = ast.parse(source)
    compilers = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "myriad._jit"
        for alias in node.names
    }
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(name_of(decorator) in compilers for decorator in node.decorator_list)
    ]


def find_bad_kernels(source: str) -> list[str]:
    """Return the kernels with too many lines (docstrings not counted) or arguments."""
    faults = []
    for kernel in find_kernels(source):
        body = kernel.body[1:] if ast.get_docstring(kernel) is not None else kernel.body
        lines = 1 + kernel.end_lineno - body[0].lineno + 1 if body else 1
        arguments = len(kernel.args.args) + len(kernel.args.kwonlyargs)
        if lines > KERNEL_LINES:
            faults.append(f"{kernel.name} has {lines} lines")
        if arguments > KERNEL_ARGUMENTS:
            faults.append(f"{kernel.name} has {arguments} arguments")
    return faults


def find_numba(source: str) -> list[str]:
    """Return the lines that import Numba directly."""
    faults = []
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "numba" for name in names):
            faults.append(f"line {node.lineno}: imports numba")
    return faults


def name_file(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_there_are_files():
    assert len(FILES) > 20


@pytest.mark.parametrize("path", FILES, ids=name_file)
def test_file_follows_the_structure(path):
    inside = path.relative_to(PACKAGE)
    source = path.read_text(encoding="utf-8")
    assert not EMPTY_NAMES & {*inside.parts[:-1], inside.stem}
    assert len(source.splitlines()) <= FILE_LINES
    assert find_bad_kernels(source) == []
    if inside.parts not in {("__init__.py",), ("lazy.py",)}:  # names imported on first use
        assert find_bad_imports(source, package=inside.parts[0].removesuffix(".py")) == []
    if inside.parts[0] in PARTS and inside.parts[1] != "__init__.py":
        part = inside.parts[1].removesuffix(".py")
        assert part in PART_LEVELS[inside.parts[0]]
        assert find_bad_parts(source, inside.parts[0], part) == []
    if inside.parts != ("_jit.py",):
        assert find_numba(source) == []


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("from myriad.store import Store", "codes"),
        ("import myriad.cli.main", "report"),
        ("from myriad import training", "objectives"),
        ("from myriad import Store", "pipelines"),
        ("import myriad", "cli"),
        ("def f():\n    from myriad.report import write", "pipelines"),
        ("if TYPE_CHECKING:\n    from myriad.store import Store", "codes"),
        ("from . import product", "codes"),
        ("from ..store import Store", "pipelines"),
        ("import importlib\nimportlib.import_module('myriad.cli')", "codes"),
        ("__import__('myriad.cli')", "codes"),
        ("from myriad.parallel import pool", "files"),
        ("from myriad.cupboard import thing", "cli"),
    ],
)
def test_bad_import_is_seen(source, package):
    assert len(find_bad_imports(source, package)) == 1


@pytest.mark.parametrize(
    ("source", "package"),
    [
        ("from myriad.codes import ProductQuantizer", "store"),
        ("from myriad.store.shards import Shard", "store"),
        ("from myriad import errors", "codes"),
        ("import myriad.serialisation", "parallel"),
        ("from myriad.errors import InputError", "files"),
        ("import numpy as np\nfrom pathlib import Path", "arrays"),
    ],
)
def test_good_import_passes(source, package):
    assert find_bad_imports(source, package) == []


@pytest.mark.parametrize(
    ("source", "n_faults"),
    [
        ("from myriad.pipelines.training.train import train", 1),
        ("def f():\n    from myriad.pipelines.training import train", 1),
        ("from myriad.pipelines import demo", 1),
        ("import myriad.pipelines.cupboard", 1),
        ("from myriad.pipelines.predicting.scoring import Evaluator", 0),
        ("from myriad.pipelines.outputs import locks_output", 0),
        ("from myriad.training import SGD", 0),
    ],
)
def test_import_of_a_later_level_is_seen(source, n_faults):
    assert len(find_bad_parts(source, "pipelines", "predicting")) == n_faults


@pytest.mark.parametrize("compiler", ["jit", "jit_reassociated", "inlined", "jit as compiled"])
def test_large_kernel_is_seen(compiler):
    name = compiler.split()[-1]
    arguments = ", ".join(f"a{i}" for i in range(11))
    document = '    """What it is.\n' + "\n" * 20 + '    """\n'
    start = f"from myriad._jit import {compiler}\n\n\n@{name}\n"
    wide = f"{start}def wide({arguments}):\n    return a0\n"
    long = f"{start}def long(a):\n{document}" + "    a += 1\n" * 40
    fit = f"{start}def fit(a):\n{document}" + "    a += 1\n" * 39
    assert find_bad_kernels(wide) == ["wide has 11 arguments"]
    assert find_bad_kernels(long) == ["long has 41 lines"]
    assert find_bad_kernels(fit) == []


def test_direct_numba_is_seen():
    assert len(find_numba("from numba import njit\nimport numba.typed")) == 2
