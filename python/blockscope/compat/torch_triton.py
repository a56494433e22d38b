"""Two modules of torch where Blockscope was asked for as Triton.

``torch.utils._triton`` says that there is a Triton. Libraries, and torch's own modules, ask
``has_triton()`` before they define or make kernels. torch may have asked, and kept the answer,
before Blockscope was there, and an old torch looks for GPUs only. So the functions are replaced.

``torch._inductor.async_compile`` has kernels compiled by worker processes once these are ready, and
gets them back by pickle. Kernels of ours belong to their process, so they are compiled in it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from blockscope.module_hooks import LoaderThen
from blockscope.version import TRITON_VERSION

_NUMBERS = tuple(int(part) for part in TRITON_VERSION.split(".")[:2])
_ANSWERS = {"has_triton": True, "has_triton_package": True, "get_triton_version": _NUMBERS}


def find_spec(name: str, path: Any) -> ModuleSpec | None:
    """The spec of one of ``MODULES``, which is changed when it is loaded."""
    spec = PathFinder.find_spec(name, path)
    if spec is not None and spec.loader is not None and is_wanted():
        spec.loader = LoaderThen(spec.loader, MODULES[name])
    return spec


def change_loaded() -> None:
    """As ``find_spec``, for a torch that is imported already."""
    for name, change in MODULES.items():
        module = sys.modules.get(name)
        if module is not None and is_wanted():
            change(module)


def answer(module: ModuleType) -> None:
    for name, value in _ANSWERS.items():
        asked = getattr(module, name, None)
        if asked is not None and not hasattr(asked, "blockscope_answer"):
            setattr(module, name, _answering(asked, value))


def _answering(asked: Any, value: Any) -> Any:
    @functools.wraps(asked)
    def ask(*args: Any, **kwargs: Any) -> Any:
        return value

    answering: Any = ask
    answering.blockscope_answer = value
    answering._dynamo_marked_constant = True  # torch.compile asks once, while it compiles
    for name in ("cache_clear", "cache_info"):
        if hasattr(asked, name):
            setattr(answering, name, getattr(asked, name))
    return answering


def compile_here(module: ModuleType) -> None:
    asynchronous = getattr(module, "AsyncCompile", None)
    if asynchronous is not None:
        asynchronous.use_process_pool = classmethod(lambda cls: False)


MODULES: dict[str, Callable[[ModuleType], None]] = {
    "torch.utils._triton": answer,
    "torch._inductor.async_compile": compile_here,
}
"""The modules by name, and what changes each."""


def is_wanted() -> bool:
    """Whether torch is to see Blockscope at all."""
    from blockscope import settings  # late: commands word what is wrong with the environment

    return bool(settings.read("BLOCKSCOPE_HAS_TRITON"))
