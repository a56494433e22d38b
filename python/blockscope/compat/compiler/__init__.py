"""Compiling ahead of a launch, under the names of ``triton.compiler``."""

from blockscope.compat.compiler.compiler import (
    ASTSource,
    AttrsDescriptor,
    CompiledKernel,
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
    "CompiledKernel",
    "IRSource",
    "LazyDict",
    "compile",
    "make_backend",
]
