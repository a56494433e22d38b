"""Compiling in the background, under Triton's names; here kernels compile at once, in milliseconds.

Inside ``AsyncCompileMode`` a launch returns the compiled kernel itself.
"""

from __future__ import annotations

from typing import Any


class FutureKernel:
    """A compiled kernel seen as one that may still be compiling."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def result(self, ignore_errors: bool = False) -> Any:
        return self.kernel

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["kernel"], name)


class AsyncCompileMode:
    """Accepted for files that use it; kernels inside compile when they are launched."""

    def __init__(self, executor: Any, *, ignore_errors: bool = False) -> None:
        self.executor = executor
        self.ignore_errors = ignore_errors

    def __enter__(self) -> AsyncCompileMode:
        return self

    def __exit__(self, *_: Any) -> None:
        pass
