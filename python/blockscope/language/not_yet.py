"""What Triton has and Blockscope does not have yet: each name gives one clear error when called."""

from typing import Any

from blockscope.errors import NotYetSupported
from blockscope.language.core import builtin


def not_yet(name: str) -> Any:
    """Return a function of the language that says that ``name`` is not supported yet."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise NotYetSupported(f"{name} is not supported yet")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = "Not supported yet."
    return builtin(refuse)


map_elementwise = not_yet("tl.map_elementwise")
inline_asm_elementwise = not_yet("tl.inline_asm_elementwise")
atomic_load = not_yet("tl.atomic_load")
atomic_store = not_yet("tl.atomic_store")
atomic_poll = not_yet("tl.atomic_poll")

__all__ = [
    "atomic_load",
    "atomic_poll",
    "atomic_store",
    "inline_asm_elementwise",
    "map_elementwise",
]
