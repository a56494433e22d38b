"""``torch.utils._triton`` as others than torch see it, where Blockscope was asked for as Triton.

Libraries ask ``has_triton()`` before they define kernels. torch asks the same functions before it
compiles code of its own by private parts of Triton, which are not here. So the answer depends on
who asks: torch's own modules get torch's answer, which is that there is no Triton.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from blockscope.version import TRITON_VERSION

NAME = "torch.utils._triton"

_NUMBERS = tuple(int(part) for part in TRITON_VERSION.split(".")[:2])
_ANSWERS = {"has_triton": True, "has_triton_package": True, "get_triton_version": _NUMBERS}


class _Loader(Loader):
    """Loads the module as ``loader`` does, then answers for it."""

    def __init__(self, loader: Any, is_torch: Callable[[Any], bool]) -> None:
        self._loader = loader
        self._is_torch = is_torch

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        answer_others(module, self._is_torch)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def find_spec(path: Any, is_torch: Callable[[Any], bool]) -> ModuleSpec | None:
    """The spec of torch's module, which answers others; ``is_torch`` is asked for the name of the
    module that asks."""
    spec = PathFinder.find_spec(NAME, path)
    if spec is not None and spec.loader is not None and _is_wanted():
        spec.loader = _Loader(spec.loader, is_torch)
    return spec


def answer_loaded(is_torch: Callable[[Any], bool]) -> None:
    """As ``find_spec``, for a torch that is imported already."""
    module = sys.modules.get(NAME)
    if module is not None and _is_wanted():
        answer_others(module, is_torch)


def answer_others(module: ModuleType, is_torch: Callable[[Any], bool]) -> None:
    for name, answer in _ANSWERS.items():
        asked = getattr(module, name, None)
        if asked is not None and not hasattr(asked, "blockscope_answer"):
            setattr(module, name, _answering(asked, answer, is_torch))


def _answering(asked: Any, answer: Any, is_torch: Callable[[Any], bool]) -> Any:
    @functools.wraps(asked)
    def ask(*args: Any, **kwargs: Any) -> Any:
        if is_torch(sys._getframe(1).f_globals.get("__name__")):
            return asked(*args, **kwargs)
        return answer

    answering: Any = ask
    answering.blockscope_answer = answer
    answering._dynamo_marked_constant = True  # torch.compile asks once, while it compiles
    for name in ("cache_clear", "cache_info"):
        if hasattr(asked, name):
            setattr(answering, name, getattr(asked, name))
    return answering


def _is_wanted() -> bool:
    from blockscope import settings  # late: commands word what is wrong with the environment

    return bool(settings.read("BLOCKSCOPE_HAS_TRITON"))
