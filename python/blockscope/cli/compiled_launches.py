"""Compiling for GPUs what a script launches on the CPU, with the same arguments and options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from blockscope import knobs
from blockscope.errors import TritonError
from blockscope.runtime.jit import JITFunction


@dataclass
class Result:
    """What became of one kernel for one target: ``kernel``, or the ``error``."""

    fn: Any
    target: str
    kernel: Any = None
    error: Exception | None = None
    ir: str = ""  # the block IR, also of a kernel that cannot be compiled

    @property
    def place(self) -> str:
        code = self.fn.fn.__code__
        return f"{code.co_filename}:{code.co_firstlineno}"


@contextmanager
def compiled_launches(
    targets: Sequence[str], sink: Callable[[Result], None], jobs: int = 1
) -> Iterator[None]:
    """Inside, compile each launch for ``targets`` before it runs; each new kernel goes to ``sink``.

    A kernel that cannot be compiled for a target still runs on the CPU.
    """
    run = JITFunction._run
    seen: set[Any] = set()

    def compile_for(target: str, fn: Any, args: Any, grid: Any, kwargs: Any) -> Result:
        try:
            kernel = run(fn, *args, grid=grid, warmup=True, **{**kwargs, "arch": target})
        except TritonError as error:
            text = run(fn, *args, grid=grid, warmup=True, **{**kwargs, "arch": "cpu"}).asm["tl"]
            return Result(fn, target, error=error, ir=text)
        return Result(fn, target, kernel, ir=kernel.asm["tl"])

    def compiling(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        if warmup:
            return run(self, *args, grid=grid, warmup=True, **kwargs)
        wanted = [kwargs["arch"]] if kwargs.get("arch") else targets
        for result in threads.map(lambda t: compile_for(t, self, args, grid, kwargs), wanted):
            key = (result.target, result.kernel.hash if result.kernel else str(result.error))
            if key not in seen:
                seen.add(key)
                sink(result)
        return run(self, *args, grid=grid, **kwargs)

    JITFunction._run = compiling  # type: ignore[method-assign]
    try:
        with ThreadPoolExecutor(jobs) as threads, knobs.runtime.scope():
            knobs.runtime.interpret = False
            yield
    finally:
        JITFunction._run = run  # type: ignore[method-assign]
