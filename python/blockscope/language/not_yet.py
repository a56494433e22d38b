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


inline_asm_elementwise = not_yet("tl.inline_asm_elementwise")

__all__ = [
    "inline_asm_elementwise",
]
