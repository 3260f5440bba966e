"""Placeholders of kernels: Numba is imported, and a kernel made, when it is first called."""

import json
import pickle
import subprocess
import sys
import time
from importlib import import_module

import pytest

from myriad._jit import Kernel, inlined, is_uncached, jit
from myriad.models.ranking import scan_top
from myriad.randomness import mix
from tests.robustness.calling import environment

HEAVY = ("numba", "scipy", "pyarrow", "sklearn", "faiss", "matplotlib", "onnx")


@inlined
def add_one(x):
    return x + 1


@jit
def add_two(x):
    return add_one(add_one(x))


def make_adder(kernel):
    @jit
    def add(x):
        return kernel(x) + 1

    return add


def test_kernels_around_a_kernel_may_be_called():
    assert make_adder(add_two)(39) == 42


@jit
def count_down(x):
    return 0 if x <= 0 else 1 + count_down(x - 1)


def test_a_kernel_may_name_itself():
    assert count_down(5) == 5


def test_kernels_may_call_kernels():
    assert isinstance(add_two, Kernel)
    assert add_two(40) == 42
    assert add_two.py_func(40) == 42
    assert not isinstance(add_one, Kernel)  # replaced for Numba, which knows its own objects alone


def test_a_kernel_is_pickled_by_its_name():
    again = pickle.loads(pickle.dumps(scan_top))
    assert again is scan_top or again is scan_top.make()
    assert mix.__doc__


def test_errors_of_missing_names_are_those_of_an_attribute():
    assert not hasattr(scan_top, "__nothing__")
    assert not hasattr(scan_top, "nothing")


def find_heavy(code):
    """Return the heavy packages that are loaded after some code has run in a new process."""
    show = f"import sys, json; print(json.dumps([n for n in {HEAVY} if n in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_modules_of_predict_import_nothing_heavy():
    assert find_heavy("import myriad.pipelines.predicting.outputs, myriad.signatures.api") == []


def test_modules_of_train_do_not_import_scikit_learn():
    modules = ("demo", "training.compare", "updating.extend")
    code = "import " + ", ".join(f"myriad.pipelines.{module}" for module in modules)
    assert "sklearn" not in find_heavy(code)


def test_ranking_a_few_rows_needs_no_kernel():
    code = """
import numpy as np
from myriad.models import Decider, LinearModel, ModelFolder
X = np.eye(3, dtype=np.float32)
folder = ModelFolder(LinearModel(X, 0 * X[0]), ["a", "b", "c"], None, {})
assert Decider(folder).decide(X, 2).labels[:, 0].tolist() == [0, 1, 2]
"""
    assert find_heavy(code) == []


def test_a_kernel_does_not_import_the_linear_algebra_of_scipy():
    code = """
import sys
import time
from importlib import import_module

import pytest
from myriad.randomness import mix
mix(1, 2)
assert "numba.np.arraymath" in sys.modules
assert "scipy.linalg" not in sys.modules
import numba, numpy as np
A = np.arange(9.0).reshape(3, 3)
assert (numba.njit(lambda A: A @ A)(A) == A @ A).all()  # where it is needed, Numba imports it
assert "scipy.linalg" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def import_new(tmp_path, monkeypatch):
    """A function that imports kernels from their source, which no cache holds yet."""

    def import_source(name, source):
        text = f"# {tmp_path} {time.time_ns()}\nfrom myriad._jit import jit\n{source}"
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return import_module(name)

    return import_source


def test_constants_that_kernels_pass_are_not_compiled_for(import_new):
    source = """
@jit
def add_if(x, amount, wanted):
    return x + amount if wanted else x

@jit
def add_constants(x):
    return add_if(x, 1, True) + add_if(x, 2, False) + add_if(x, x, x > 0)
"""
    module = import_new("kernels_with_constants", source)
    assert module.add_constants(5) == 21
    assert len(module.add_if.signatures) == 1


def test_a_kernel_is_missing_from_the_cache_until_it_is_compiled(import_new):
    double = import_new("kernels_of_a_test", "@jit\ndef double(x):\n    return 2 * x\n").double
    assert is_uncached(double)
    assert double(21) == 42
    assert not is_uncached(double)


def test_indices_are_checked_on_request(tmp_path):
    """As ``NUMBA_BOUNDSCHECK=1 pytest`` does, see docs/guarantees.md."""
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from myriad._jit import inlined, jit\n"
        "@inlined\n"
        "def take(array, i):\n"
        "    return array[i]\n"
        "@jit\n"
        "def take_twice(array, i):\n"
        "    return take(array, i) + take(array, i)\n"
        "take_twice(np.zeros(3), 3)\n"
    )
    more = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    done = subprocess.run(
        [sys.executable, script], env=environment() | more, capture_output=True, text=True
    )
    assert "IndexError" in done.stderr
