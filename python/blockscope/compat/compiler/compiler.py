"""``triton.compile`` and what it takes, for the CPU and for NVIDIA GPUs."""

from __future__ import annotations

from typing import Any

from blockscope.compat.backends import backends
from blockscope.compat.backends.compiler import AttrsDescriptor, BaseBackend, GPUTarget
from blockscope.errors import NotYetSupported
from blockscope.knobs import LazyDict
from blockscope.runtime import example_arguments
from blockscope.runtime.ast_source import ASTSource
from blockscope.runtime.cache import triton_key
from blockscope.runtime.compiled_kernel import CompiledKernel
from blockscope.users_call import for_user, method_for_user


class IRSource:
    """A file with IR: there is no stage here that reads Triton's IR."""

    @method_for_user
    def __init__(self, path: Any, *_: Any) -> None:
        raise NotYetSupported(
            f"'{path}' cannot be compiled: Blockscope reads kernels, not IR files; "
            "an edited .ptx or .cubin takes the place of a kernel's by ir_override= of its launch "
            "or TRITON_KERNEL_OVERRIDE=1 (docs/host.md)"
        )


@for_user
def make_backend(target: GPUTarget) -> BaseBackend:
    """The back end of a target. Errors: ValueError for any but the CPU and NVIDIA GPUs."""
    for backend in backends.values():
        if backend.compiler.supports_target(target):
            return backend.compiler(target)
    raise ValueError(f"there is no back end for '{target.backend}', expected 'cpu' or 'cuda'")


@for_user
def compile(src: Any, target: GPUTarget | None = None, options: Any = None, **_: Any) -> Any:
    """Compile an ``ASTSource`` without running it; gives the compiled kernel.

    A target of 'cuda' needs no GPU: the kernel's texts and binary can be looked at on any machine.
    """
    if not isinstance(src, ASTSource):
        IRSource(src)
    launch = options if isinstance(options, dict) else getattr(options, "__dict__", None) or {}
    if target is not None:
        make_backend(target)
        launch = {**launch, "arch": target.arch if target.backend == "cuda" else "cpu"}
    return src.fn.warmup(grid=(1,), **example_arguments.of(src), **launch)


__all__ = [
    "ASTSource",
    "AttrsDescriptor",
    "CompiledKernel",
    "GPUTarget",
    "IRSource",
    "LazyDict",
    "compile",
    "make_backend",
    "triton_key",
]
