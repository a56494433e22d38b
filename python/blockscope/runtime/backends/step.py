"""Kernels step by step on the CPU, as plain Python."""

from __future__ import annotations

from blockscope import checks
from blockscope.frontend import step, waiting
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.backends.cpu_launch import finish, host_memory, open_launch
from blockscope.runtime.backends.flat import FlatBackend
from blockscope.runtime.memory.host import HostMemory


class StepBackend:
    """Runs kernels step by step; nothing is compiled for it."""

    def __init__(self, flat: FlatBackend) -> None:
        self._flat = flat

    def memory(self) -> HostMemory:
        return host_memory()

    def compile(self, request: Request) -> None:
        return None

    def launch(self, kernel: None, request: Request) -> None:
        fn, arguments = request.fn, request.arguments
        with checks.watching() as sessions:
            has_atomics = not sessions or waiting.has_atomics(
                fn, arguments, lambda: self._flat.code(fn, arguments, prints=False)[0]
            )
            launch = open_launch(request, sessions)
            try:
                step.run(fn, launch, arguments, request.grid, has_atomics)
            finally:
                finish(arguments)
