"""A kernel with the types of its arguments and its constants: what ``triton.compile`` takes, and
``src`` of a compiled kernel."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from blockscope.frontend.kernel_function import KernelFunction
from blockscope.users_call import method_for_user

Path = tuple[int, ...]
"""Where a value is: the position of the argument, then positions in tuples."""


class ASTSource:
    """Types are texts, ``'*fp32'``, ``'i32'``, ``'constexpr'``, or tuples of such.

    ``constants`` has the constant values by path, ``constexprs`` those of whole arguments by name,
    ``attrs`` what is known of arguments by path, as ``[["tt.divisibility", 16]]``, or of a number
    whose type an annotation fixes and which is 1, ``[["blockscope.value", 1]]``.

    Errors: TypeError when ``fn`` is no kernel, ValueError for a name that is no argument of it.
    """

    ext = "ttir"

    @method_for_user
    def __init__(
        self,
        fn: Any,
        signature: dict[Any, Any] | str | None = None,
        constexprs: dict[Any, Any] | None = None,
        attrs: Any = None,
        constants: dict[Any, Any] | None = None,
    ) -> None:
        if not hasattr(fn, "arg_names"):
            raise TypeError(f"ASTSource got {type(fn).__name__}, expected a @triton.jit function")
        self.fn = fn
        self.name = getattr(fn, "__name__", "kernel")
        if isinstance(signature, str):
            signature = dict(enumerate(part.strip() for part in signature.split(",")))
        names = fn.arg_names
        self.signature = {
            names[self._path(key, "signature")[0]]: kind for key, kind in (signature or {}).items()
        }
        self.constants: dict[Path, Any] = {
            self._path(key, "constexprs"): value
            for key, value in {**(constexprs or {}), **(constants or {})}.items()
        }
        self.attrs = attrs or {}

    def _path(self, key: Any, option: str) -> Path:
        """Keys may be names, positions, or tuples of positions."""
        if isinstance(key, str):
            if key not in self.fn.arg_names:
                raise ValueError(
                    f"ASTSource got '{key}' in '{option}', which is no argument of '{self.name}'"
                )
            return (self.fn.arg_names.index(key),)
        path = key if isinstance(key, tuple) else (key,)
        if not 0 <= path[0] < len(self.fn.arg_names):
            raise ValueError(
                f"ASTSource got position {path[0]} in '{option}', but '{self.name}' has "
                f"{len(self.fn.arg_names)} arguments"
            )
        return path

    @property
    def constexprs(self) -> dict[str, Any]:
        names = self.fn.arg_names
        return {names[path[0]]: v for path, v in self.constants.items() if len(path) == 1}

    def is_aligned(self, path: Path) -> bool:
        """Whether ``attrs`` say that an argument can be divided by 16."""
        return self._has(path, ("tt.divisibility", 16))

    def is_one(self, path: Path) -> bool:
        """Whether ``attrs`` say that a number is 1, and its type is not that of a constant."""
        return self._has(path, ("blockscope.value", 1))

    def _has(self, path: Path, known: tuple[str, int]) -> bool:
        facts = self.attrs.get(path) or () if isinstance(self.attrs, dict) else ()
        return any(tuple(fact) == known for fact in facts)

    def hash(self) -> str:
        facts = self.attrs.items() if isinstance(self.attrs, dict) else self.attrs
        parts = [self.fn.cache_key, sorted(self.signature.items()), sorted(map(str, facts))]
        for path, value in sorted(self.constants.items()):
            parts.append((path, constant_text(value)))
        return hashlib.sha256(str(parts).encode()).hexdigest()

    def parse_options(self) -> dict[str, Any]:
        return {}


def constant_text(value: Any) -> str:
    """A text for a constant that is the same in every process; for a function its ``cache_key``."""
    if isinstance(value, KernelFunction):
        return str(getattr(value, "cache_key", value.__name__))
    if isinstance(value, tuple):
        return f"({', '.join(map(constant_text, value))})"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
