"""Triton's module paths: where each is found, in one table.

``import triton.backends.compiler`` and ``import blockscope.backends.compiler`` both give
``blockscope.compat.backends.compiler``. A path that is not in the table, nor below one that is, has
the same name below ``blockscope``.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False  # as in blockscope/__init__.py
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

#: A path below ``triton``, and the module below ``blockscope`` that is found there.
PATHS = {
    "_C": "compat._C",
    "_filecheck": "compat.filecheck",
    "_internal_testing": "compat.internal_testing",
    "_utils": "compat._utils",
    "backends": "compat.backends",
    "compiler": "compat.compiler",
    "experimental": "compat.experimental",
    "language.extra.cpu.libdevice": "language.extra.libdevice",
    "language.extra.cuda.libdevice": "language.extra.libdevice",
    "language.extra.hip.libdevice": "language.extra.libdevice",
    "language.semantic": "compat.language.semantic",
    "profiler": "compat.profiler",
    "runtime._allocation": "compat.runtime._allocation",
    "runtime._async_compile": "compat.runtime._async_compile",
    "runtime.build": "compat.runtime.build",
    "runtime.driver": "compat.runtime.driver",
    "runtime.errors": "compat.runtime.errors",
    "runtime.interpreter": "compat.runtime.interpreter",
    "tools": "compat.tools",
}

_PACKAGE = "blockscope."


def module_at(path: str) -> str | None:
    """The full name of the module at a path of the table, or below one; None for other paths."""
    upper, below = path, ""
    while upper:
        if upper in PATHS:
            return _PACKAGE + PATHS[upper] + below
        upper, _, last = upper.rpartition(".")
        below = f".{last}{below}"
    return None


class AliasLoader:
    """Puts a module under a second name."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._own_spec: ModuleSpec | None = None

    def get_code(self, fullname: str) -> Any:
        """For ``python -m``: the code of the module itself."""
        import importlib.util

        spec = importlib.util.find_spec(self._module)
        loader: Any = spec.loader if spec else None
        return loader.get_code(self._module) if loader else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._module)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        parent, _, name = module.__spec__.name.rpartition(".")
        module.__spec__ = self._own_spec  # the import system has set it to the alias's
        _keep(sys.modules.get(parent), name)


def _keep(package: ModuleType | None, name: str) -> None:
    """Let a package's function or object stay where a module below it has the same name.

    The import system binds the module after its first import. A package of Triton's has then
    already put the function over it, but the second name of a module is imported later.
    """
    from types import ModuleType

    kept = vars(package).get(name) if package is not None else None
    if kept is None or isinstance(kept, ModuleType) or type(package) is not ModuleType:
        return

    class Package(ModuleType):
        def __setattr__(self, attribute: str, value: Any) -> None:
            if attribute == name and isinstance(value, ModuleType):
                self.__class__ = ModuleType  # type: ignore[assignment] # once: what a program assigns later counts
                return
            super().__setattr__(attribute, value)

    package.__class__ = Package


def alias_spec(name: str, module: str) -> ModuleSpec | None:
    """The spec of ``name`` as a second name of ``module``; None when there is no such module."""
    import importlib.machinery
    import importlib.util

    loaded = sys.modules.get(module)
    if loaded is not None:
        is_package = hasattr(loaded, "__path__")
    else:
        spec = importlib.util.find_spec(module)
        if spec is None:
            return None
        is_package = spec.submodule_search_locations is not None
    loader: Any = AliasLoader(module)
    return importlib.machinery.ModuleSpec(name, loader, origin=__file__, is_package=is_package)


class PathFinder:
    """Finds the paths of the table below ``blockscope``.

    It stands first on ``sys.meta_path``: other finders would look into the folders of a package of
    the table and load its modules a second time.
    """

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(_PACKAGE):
            return None
        module = module_at(fullname[len(_PACKAGE) :])
        return None if module is None else alias_spec(fullname, module)


def install() -> None:
    """Let ``import blockscope.X`` find the paths of the table."""
    if PathFinder not in sys.meta_path:
        sys.meta_path.insert(0, PathFinder)
