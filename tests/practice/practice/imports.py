"""Imports single files of a repository: its packages without their ``__init__``, stand-ins for
those of others."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from practice.case import Repository
from practice.checkout import NotThere


class Nothing:
    """What a name of a stand-in is: usable at import, without effect.

    Called with a function alone it gives that function, so it can be a decorator.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and (callable(args[0]) or isinstance(args[0], property)):
            return args[0]
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return ()

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __getitem__(self, key: Any) -> Any:
        return self

    def __or__(self, other: Any) -> Any:
        return self

    def __contains__(self, other: Any) -> bool:
        return False

    def _is_not(self, other: Any) -> bool:
        return False

    __ror__ = __or__
    __lt__ = __le__ = __gt__ = __ge__ = _is_not


class StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Nothing()


class Finder(MetaPathFinder, Loader):
    """Finds the packages of a repository, and what stands in for those of others."""

    def __init__(self, root: Path, repository: Repository) -> None:
        self._root, self._repository = root, repository

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        stand_ins = self._repository.stand_ins
        top = fullname.partition(".")[0]
        packages = self._repository.packages
        if fullname in stand_ins:
            spec = ModuleSpec(fullname, self, is_package=True)
            if fullname in packages:  # its attributes are given, its modules are the real ones
                spec.submodule_search_locations = [str(self._root / packages[top] / fullname)]
            return spec
        is_part = any(fullname.startswith(name + ".") for name in stand_ins)
        is_above = any(name.startswith(fullname + ".") for name in stand_ins)
        if top not in packages:
            return ModuleSpec(fullname, self, is_package=True) if is_part or is_above else None
        base = self._root.joinpath(packages[top], *fullname.split("."))
        if base.with_suffix(".py").is_file() and not base.is_dir():
            return importlib.util.spec_from_file_location(fullname, base.with_suffix(".py"))
        if not base.is_dir():
            return ModuleSpec(fullname, self, is_package=True) if is_part or is_above else None
        if fullname in self._repository.inits:
            return importlib.util.spec_from_file_location(
                fullname, base / "__init__.py", submodule_search_locations=[str(base)]
            )
        spec = ModuleSpec(fullname, self, is_package=True)
        spec.submodule_search_locations = [str(base)]
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        attributes: Mapping[str, Any] = self._repository.stand_ins.get(spec.name, {})
        if spec.submodule_search_locations and not attributes:
            return None
        module = (ModuleType if spec.submodule_search_locations else StandIn)(spec.name)
        module.__dict__.update(attributes)
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


def install(root: Path, repository: Repository) -> None:
    sys.meta_path.insert(0, Finder(root, repository))
    sys.path.extend(str(root / folder) for folder in repository.folders)


def module(root: Path, repository: Repository, file: str) -> ModuleType:
    """The module of a file. Errors: NotThere when the repository has no such file."""
    if not (root / file).is_file():
        raise NotThere(f"{repository.name} has no file {file}")
    for top, folder in repository.packages.items():
        base = Path(folder)
        inside = Path(file).relative_to(base) if Path(file).is_relative_to(base) else None
        if inside is not None and inside.parts[0] == top:
            return importlib.import_module(".".join(inside.with_suffix("").parts))
    name = "practice_file_" + "_".join(Path(file).with_suffix("").parts).replace("-", "_")
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, root / file)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[name]
        raise
    return loaded
