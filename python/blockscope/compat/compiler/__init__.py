"""Compiling ahead of a launch, under the names of ``triton.compiler``."""

from typing import Any

from blockscope.compat.backends.compiler import old_name
from blockscope.compat.compiler.compiler import (
    ASTSource,
    CompiledKernel,
    IRSource,
    LazyDict,
    compile,
    make_backend,
)
from blockscope.compat.compiler.errors import CompilationError


def __getattr__(name: str) -> Any:
    return old_name(name, __name__)


__all__ = [
    "ASTSource",
    "CompilationError",
    "CompiledKernel",
    "IRSource",
    "LazyDict",
    "compile",
    "make_backend",
]
