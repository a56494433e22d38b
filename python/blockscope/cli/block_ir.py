"""Printing the block IR of each kernel that a script launches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from blockscope import knobs
from blockscope.runtime.jit import JITFunction


@contextmanager
def printed_kernels(stream: TextIO) -> Iterator[None]:
    """Print, inside the ``with`` block, every kernel once for each set of argument types."""
    seen: set[str] = set()
    run = JITFunction._run

    def printing(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        kernel = run(self, *args, grid=grid, warmup=warmup, **kwargs)
        text = (getattr(kernel, "asm", None) or {}).get("ttir", "")
        if text and text not in seen:
            seen.add(text)
            code = self.fn.__code__
            print(f"// {self.__name__} at {code.co_filename}:{code.co_firstlineno}", file=stream)
            print(text.rstrip("\n") + "\n", file=stream, flush=True)
        return kernel

    JITFunction._run = printing  # type: ignore[method-assign]
    try:
        with knobs.runtime.scope():
            knobs.runtime.interpret = False
            yield
    finally:
        JITFunction._run = run  # type: ignore[method-assign]
