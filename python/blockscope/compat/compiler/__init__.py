"""Compiling ahead of a launch, under the names of ``triton.compiler``."""

from typing import Any

from blockscope.compat.compiler import compiler as _compiler
from blockscope.compat.compiler.compiler import (
    ASTSource,
    AttrsDescriptor,
    IRSource,
    LazyDict,
    compile,
    make_backend,
)
from blockscope.compat.compiler.errors import CompilationError

__all__ = [
    "ASTSource",
    "AttrsDescriptor",
    "CompilationError",
    "IRSource",
    "LazyDict",
    "compile",
    "make_backend",
]


def __getattr__(name: str) -> Any:
    if name == "CompiledKernel":
        return _compiler.CompiledKernel
    raise AttributeError(f"module 'triton.compiler' has no attribute '{name}'")
