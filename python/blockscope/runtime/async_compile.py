"""Compiling in the threads of an executor, under the names of ``triton.runtime._async_compile``."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from blockscope.process_lock import ProcessLock

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

active_mode: ContextVar[AsyncCompileMode | None] = ContextVar("active_mode", default=None)
"""The mode that kernels are compiled in now."""


class FutureKernel:
    """A kernel that may still be compiling. Reading an attribute of the kernel waits for it."""

    def __init__(
        self,
        specialization: Any,
        future: Future[Any],
        finish: Callable[[Any], None],
        fail: Callable[[FutureKernel], None],
    ) -> None:
        self.specialization = specialization
        self.future = future
        self.kernel: Any = None
        self._finish = finish
        self._fail = fail
        self._lock = ProcessLock()

    def result(self, ignore_errors: bool = False) -> Any:
        """The kernel, when it is compiled. Errors: those of compiling, or None instead of them."""
        try:
            kernel = self.future.result()
        except Exception:
            self._fail(self)
            if ignore_errors:
                return None
            raise
        with self._lock:
            if self.kernel is None:
                self.kernel = kernel
                self._finish(kernel)
        return self.kernel

    def is_stale(self) -> bool:
        return self.kernel is not None and bool(self.kernel.is_stale())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.result(), name)


class AsyncCompileMode:
    """Inside, ``warmup`` gives a ``FutureKernel`` at once and a thread of ``executor`` compiles; a
    launch waits for its kernel. The end of the ``with`` block waits for all.

    Errors: RuntimeError inside another mode; at the end those of compiling, unless
            ``ignore_errors``.
    """

    def __init__(self, executor: Executor, *, ignore_errors: bool = False) -> None:
        self.executor = executor
        self.ignore_errors = ignore_errors
        self._kernels: dict[Future[Any], FutureKernel] = {}

    def submit(
        self,
        specialization: Any,
        compile: Callable[[], Any],
        finish: Callable[[Any], None],
        fail: Callable[[FutureKernel], None],
    ) -> FutureKernel:
        """Begin to compile; ``finish`` gets the kernel, once, or ``fail`` what has no kernel."""
        future = self.executor.submit(compile)
        kernel = self._kernels[future] = FutureKernel(specialization, future, finish, fail)
        return kernel

    def __enter__(self) -> AsyncCompileMode:
        if active_mode.get() is not None:
            raise RuntimeError("an AsyncCompileMode is active already")
        active_mode.set(self)
        return self

    def __exit__(self, *_: Any) -> None:
        from concurrent.futures import as_completed  # late: few programs compile in threads

        active_mode.set(None)
        for future in as_completed(self._kernels):
            self._kernels[future].result(self.ignore_errors)
