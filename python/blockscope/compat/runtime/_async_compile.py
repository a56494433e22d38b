"""Compiling in threads, under Triton's module path."""

from blockscope.runtime.async_compile import AsyncCompileMode, FutureKernel, active_mode

__all__ = ["AsyncCompileMode", "FutureKernel", "active_mode"]
