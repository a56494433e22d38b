"""Printing the block IR of each kernel that a script launches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from blockscope import knobs
from blockscope.cli.usage import ending_unwritten
from blockscope.errors import TritonError
from blockscope.runtime import hooks


@contextmanager
def printed_kernels(stream: TextIO) -> Iterator[None]:
    """Print, inside the ``with`` block, every kernel once for each set of argument types."""
    seen: set[str] = set()

    def printing(
        run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
    ) -> Any:
        if not warmup:  # before the launch, which may fail
            with suppress(TritonError):  # the launch says it too
                printing(run, fn, args, grid, {**kwargs, "arch": "cpu"}, True)
            return run(fn, grid, args, kwargs)
        kernel = run(fn, grid, args, kwargs, warmup=True)
        text = (getattr(kernel, "asm", None) or {}).get("ttir", "")
        if text and text not in seen:
            seen.add(text)
            code = fn.fn.__code__
            place = f"{code.co_filename}:{code.co_firstlineno}"
            with ending_unwritten():
                print(f"// {fn.__name__} at {place}\n{text.rstrip()}\n", file=stream, flush=True)
        return kernel

    with hooks.intercepted(printing), knobs.runtime.scope():
        knobs.runtime.interpret = False
        yield
