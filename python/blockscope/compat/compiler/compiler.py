"""``triton.compile`` and what it takes, for the CPU and for NVIDIA GPUs."""

from __future__ import annotations

import hashlib
from typing import Any

from blockscope.compat.backends import backends
from blockscope.compat.backends.compiler import BaseBackend, GPUTarget, old_name
from blockscope.knobs import LazyDict
from blockscope.runtime import example_arguments, ir_function
from blockscope.runtime.ast_source import ASTSource
from blockscope.runtime.cache import triton_key
from blockscope.runtime.compiled_kernel import CompiledKernel
from blockscope.runtime.specialization import short_name
from blockscope.users_call import for_user, method_for_user


class IRSource:
    """A file with the block IR of one kernel, as ``blockscope ir`` prints it.

    Errors: OSError; NotYetSupported for IR of Triton's; CompilationError for what is no kernel.
    """

    ext = "tl"

    @method_for_user
    def __init__(self, path: Any, *_: Any) -> None:
        self.path = path
        self.fn = ir_function.read(path)
        self.src = self.fn.block_ir
        self.name = self.fn.__name__
        self.signature = {i: short_name(kind) for i, kind in enumerate(self.fn.types)}

    def hash(self) -> str:
        """Of the text."""
        return hashlib.sha256(self.src.encode()).hexdigest()

    def arguments(self) -> dict[str, Any]:
        """Arguments of the right types, to compile without a launch."""
        kinds = dict(zip(self.fn.arg_names, self.signature.values(), strict=True))
        return example_arguments.of(ASTSource(self.fn, kinds))


@for_user
def make_backend(target: GPUTarget) -> BaseBackend:
    """The back end of a target. Errors: ValueError for any but the CPU and NVIDIA GPUs."""
    for backend in backends.values():
        if backend.compiler.supports_target(target):
            return backend.compiler(target)
    raise ValueError(f"there is no back end for '{target.backend}', expected 'cpu' or 'cuda'")


@for_user
def compile(src: Any, target: GPUTarget | None = None, options: Any = None, **_: Any) -> Any:
    """Compile an ``ASTSource``, or the block IR in a file (a path or an ``IRSource``), without
    running it; gives the compiled kernel.

    A target of 'cuda' needs no GPU: the kernel's texts and binary can be looked at on any machine.
    """
    if not isinstance(src, ASTSource | IRSource):
        src = IRSource(src)
    launch = options if isinstance(options, dict) else getattr(options, "__dict__", None) or {}
    if target is not None:
        make_backend(target)
        launch = {**launch, "arch": target.arch if target.backend == "cuda" else "cpu"}
    arguments = src.arguments() if isinstance(src, IRSource) else example_arguments.of(src)
    return src.fn.warmup(grid=(1,), **arguments, **launch)


def __getattr__(name: str) -> Any:
    return old_name(name, __name__)


__all__ = [
    "ASTSource",
    "CompiledKernel",
    "GPUTarget",
    "IRSource",
    "LazyDict",
    "compile",
    "make_backend",
    "triton_key",
]
