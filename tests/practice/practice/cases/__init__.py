"""The cases, a module for each repository."""

from __future__ import annotations

import importlib
import pkgutil

from practice.case import Repository


def names() -> list[str]:
    """The modules with cases."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Repository:
    return importlib.import_module(f"{__name__}.{name}").repository
