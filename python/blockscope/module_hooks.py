"""Work that waits for the import of a module, or comes behind it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class LoaderThen(Loader):
    """Loads a module as ``loader`` does, then calls ``then`` with it."""

    def __init__(self, loader: Any, then: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._then(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder:
    """Finds the module ``name`` as the other finders do, and has ``then`` called."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._then = then
        self._search = threading.local()

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        # Another one of these, for the same module, asks this one in turn.
        if fullname != self._name or getattr(self._search, "is_on", False):
            return None
        self._search.is_on = True
        try:
            return self._found(fullname, path, target)
        finally:
            self._search.is_on = False

    def _found(self, fullname: str, path: Any, target: Any) -> ModuleSpec | None:
        for finder in [f for f in sys.meta_path if f is not self]:
            find = getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find is not None else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = LoaderThen(spec.loader, self._then)
                return spec
        return None


@contextmanager
def after_import(name: str, then: Callable[[ModuleType], None]) -> Iterator[None]:
    """Inside, calls ``then`` with the module when it is imported, on the thread that imports it."""
    finder: Any = _Finder(name, then)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
