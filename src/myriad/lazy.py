"""Names of a package, and modules of other packages, that are imported when they are first used.

The command builds its help from packages whose other parts import NumPy, Numba and scikit-learn.
Such a package lists its heavy names with the module that defines each::

    __getattr__ = import_on_use(__name__, {"Checkpoint": "myriad.training.checkpoints"})

or, where there are many, imports them all in a module ``api``::

    __getattr__ = import_from_api(__name__)

Type checkers and readers see them in an ``if TYPE_CHECKING`` block beside it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def import_on_use(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the module-level ``__getattr__`` of a package.

    Parameters
    ----------
    package : the name of the package, for the error.
    modules : the module that defines each name; a name may be that of a module of the package.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(modules[name])
        return module if modules[name] == f"{package}.{name}" else getattr(module, name)

    return find


def import_from_api(package: str) -> Callable[[str], Any]:
    """Return the module-level ``__getattr__`` of a package whose heavy names are in its ``api``."""

    def find(name: str) -> Any:
        if name.startswith("_") or name == "api":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.api"), name)

    return find


def import_name(module: str, name: str) -> Any:
    """Return the attribute `name` of a module, which is imported if necessary."""
    return getattr(importlib.import_module(module), name)


class LazyModule(ModuleType):
    """A module of another package that is imported when one of its names is first used.

    For packages that few calls need and whose import takes long::

        if TYPE_CHECKING:
            import pyarrow as pa
        else:
            pa = LazyModule("pyarrow")
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by tools that look at every module
            raise AttributeError(name)
        return import_name(self.__name__, name)
