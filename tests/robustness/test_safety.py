"""Nothing in the package executes content of a file."""

import ast
from pathlib import Path

import pytest

import myriad

FILES = sorted(path for folder in myriad.__path__ for path in Path(folder).rglob("*.py"))
MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "yaml",
    "torch",
}
CALLS = {"eval", "exec", "compile", "__import__", "popen", "extractall", "unpack_archive"}


def find_dangers(source: str) -> list[str]:
    """Return imports, calls and arguments in a source file that could execute content of a file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.partition(".")[0] in MODULES]
        elif isinstance(node, ast.ImportFrom):
            found += [node.module or ""] * ((node.module or "").partition(".")[0] in MODULES)
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            owner = getattr(getattr(node.func, "value", None), "id", "")
            if (name in CALLS and owner != "re") or (name == "system" and owner == "os"):
                found.append(name)
            found += [
                f"{name}(allow_pickle)"
                for option in node.keywords
                if option.arg == "allow_pickle"
                and not (isinstance(option.value, ast.Constant) and option.value.value is False)
            ]
            found += ["shell"] * any(option.arg == "shell" for option in node.keywords)
    return found


ALLOWED = {
    "parallel/processes.py": ["pickle"],
    "signatures/networks/torch_weights.py": ["pickle"],
}
"""Messages between a process and its own workers, never files; and an unpickler that knows four
names and refuses every other, which has tests of its own."""


def name_file(path):
    return path.relative_to(Path(myriad.__file__).parent).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name_file)
def test_no_file_can_run_content(path):
    allowed = ALLOWED.get(name_file(path), [])
    assert find_dangers(path.read_text(encoding="utf-8")) == allowed


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "import torch.serialization",
        "eval(text)",
        "builtins.exec(text)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=wanted)",
        "yaml.load(x); import yaml",
        "tar.extractall()",
        "os.system(line)",
        "subprocess.run(line, shell=True)",
    ],
)
def test_dangers_are_found(source):
    assert find_dangers(source)


def test_harmless_code_passes():
    assert find_dangers("import re, json; re.compile('a'); np.load(p, allow_pickle=False)") == []
