"""``triton.profiler``: it can be imported, as many kernel files do, but every use is an error."""

from typing import Any

from blockscope.errors import NotYetSupported


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'triton.profiler' has no attribute '{name}'")

    def missing(*args: Any, **kwargs: Any) -> Any:
        raise NotYetSupported(f"triton.profiler.{name} is not supported yet: there is no profiler")

    missing.__name__ = name
    return missing
