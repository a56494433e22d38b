"""``triton.compile`` and what it takes, for the CPU and for NVIDIA GPUs."""

from __future__ import annotations

from typing import Any

from blockscope.compat.backends import backends
from blockscope.compat.backends.compiler import AttrsDescriptor, BaseBackend, GPUTarget
from blockscope.errors import NotYetSupported
from blockscope.knobs import LazyDict
from blockscope.runtime.cache import triton_key
from blockscope.runtime.compiled_kernel import CompiledKernel
from blockscope.runtime.tensors import MockTensor


class ASTSource:
    """A kernel with the types of its arguments (``'*fp32'``, ``'i32'``) and its constants.

    Errors: TypeError when ``fn`` is no kernel, ValueError for a name that is no argument of it.
    """

    def __init__(
        self,
        fn: Any,
        signature: dict[Any, str] | str | None = None,
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
        self.signature = self._by_name(signature or {}, "signature")
        self.constexprs = self._by_name({**(constexprs or {}), **(constants or {})}, "constexprs")
        self.constants = self.constexprs
        self.attrs = attrs or {}

    def _by_name(self, given: dict[Any, Any], option: str) -> dict[str, Any]:
        """Keys may be names, positions, or one-element tuples of positions."""
        named = {}
        for key, value in given.items():
            if isinstance(key, tuple) and len(key) == 1:
                key = key[0]
            if isinstance(key, int):
                if not 0 <= key < len(self.fn.arg_names):
                    raise ValueError(
                        f"ASTSource got position {key} in '{option}', but '{self.name}' has "
                        f"{len(self.fn.arg_names)} arguments"
                    )
                key = self.fn.arg_names[key]
            if key not in self.fn.arg_names:
                raise ValueError(
                    f"ASTSource got '{key}' in '{option}', which is no argument of '{self.name}'"
                )
            named[key] = value
        return named

    def is_aligned(self, name: str) -> bool:
        """Whether ``attrs`` say that an argument can be divided by 16."""
        if not isinstance(self.attrs, dict):
            return False
        facts = self.attrs.get((self.fn.arg_names.index(name),)) or ()
        return any(tuple(fact) == ("tt.divisibility", 16) for fact in facts)

    def hash(self) -> str:
        import hashlib

        parts = (self.fn.cache_key, sorted(self.signature.items()), self.constexprs.items())
        return hashlib.sha256(str(parts).encode()).hexdigest()


class IRSource:
    """A file with IR: there is no stage here that reads Triton's IR."""

    def __init__(self, path: Any, *_: Any) -> None:
        raise NotYetSupported(
            f"'{path}' cannot be compiled: Blockscope reads kernels, not IR files"
        )


def make_backend(target: GPUTarget) -> BaseBackend:
    """The back end of a target. Errors: ValueError for any but the CPU and NVIDIA GPUs."""
    for backend in backends.values():
        if backend.compiler.supports_target(target):
            return backend.compiler(target)
    raise ValueError(f"there is no back end for '{target.backend}', expected 'cpu' or 'cuda'")


def compile(src: Any, target: GPUTarget | None = None, options: Any = None, **_: Any) -> Any:
    """Compile an ``ASTSource`` without running it; gives the compiled kernel.

    A target of 'cuda' needs no GPU: the kernel's texts and binary can be looked at on any machine.
    """
    if not isinstance(src, ASTSource):
        IRSource(src)
    named: dict[str, Any] = dict(src.constexprs)
    for name, kind in src.signature.items():
        if name in named or kind == "constexpr":
            continue
        named[name] = _example(kind, src.is_aligned(name))
    launch = options if isinstance(options, dict) else getattr(options, "__dict__", None) or {}
    if target is not None:
        make_backend(target)
        launch = {**launch, "arch": target.arch if target.backend == "cuda" else "cpu"}
    return src.fn.warmup(grid=(1,), **named, **launch)


def _example(kind: str, aligned: bool) -> Any:
    """A value of a type; 17 is neither 1 nor divisible by 16, so nothing specialises unasked."""
    if kind.startswith("*"):
        name = kind[1:].removeprefix("k")
        if name[:1] in "iu" and name[1:].isdigit():
            name = ("int" if name[0] == "i" else "uint") + name[1:]
        return MockTensor(name, address=0 if aligned else 1)
    if kind in ("i1", "u1", "int1"):
        return True
    if kind.startswith(("fp", "bf")):
        return 17.5
    return 16 if aligned else 17


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
