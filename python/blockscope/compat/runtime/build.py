"""Compiling launchers in C has no counterpart: launches are not compiled here."""

from typing import Any

from blockscope.errors import NotYetSupported


def compile_module_from_src(*args: Any, **kwargs: Any) -> Any:
    raise NotYetSupported("triton.runtime.build has no counterpart: nothing is compiled in C")


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'triton.runtime.build' has no attribute '{name}'")
    return compile_module_from_src
