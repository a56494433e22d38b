"""Kernels step by step on the CPU, as plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blockscope import checks, settings, user_warnings
from blockscope.frontend import step, waiting
from blockscope.frontend.argument import Argument, leaves
from blockscope.frontend.block_ir import Arithmetic
from blockscope.runtime.backends import residency
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.backends.cpu_launch import arithmetic_of, finish, host_memory, open_launch
from blockscope.runtime.backends.flat import FlatBackend, FlatCode
from blockscope.runtime.memory.host import HostMemory
from blockscope.runtime.options import num_warps_of


class StepBackend:
    """Runs kernels step by step; nothing is compiled for it."""

    def __init__(self, flat: FlatBackend) -> None:
        self._flat = flat

    def memory(self) -> HostMemory:
        return host_memory()

    def compile(self, request: Request) -> None:
        return None

    def _code(
        self, fn: Any, arguments: list[Argument], num_warps: int, arithmetic: Arithmetic
    ) -> FlatCode:
        plain = Arithmetic(libraries=arithmetic.libraries)
        return self._flat.code(fn, arguments, num_warps=num_warps, prints=False, arithmetic=plain)[
            0
        ]

    def _tell_program(
        self, launch: Any, code: Callable[[], FlatCode], arguments: list[Argument]
    ) -> None:
        """Where the kernel can be compiled, who watches its steps knows the program as well."""
        program = waiting.unseen(lambda: code().program_for(launch))
        if program is not None:
            launch.know_program(program, [a.bits for a in leaves(arguments)])

    def launch(self, kernel: None, request: Request) -> None:
        fn, arguments = request.fn, request.arguments
        _warn_without_program(fn.__name__, request.grid)
        with checks.watching() as sessions:
            num_warps = num_warps_of(request.options)
            arithmetic = arithmetic_of(request.options)

            def code() -> FlatCode:
                return self._code(fn, arguments, num_warps, arithmetic)

            has_atomics = not sessions or waiting.has_atomics(fn, arguments, code)
            launch = open_launch(request, sessions)
            if sessions:
                residency.answer(launch, request)
            if launch.needs_program:
                self._tell_program(launch, code, arguments)
            try:
                step.run(
                    fn,
                    launch,
                    arguments,
                    request.grid,
                    has_atomics=has_atomics,
                    num_warps=num_warps,
                    arithmetic=arithmetic,
                )
            finally:
                finish(arguments)


_warned: set[str] = set()  # kernels


def _warn_without_program(kernel: str, grid: tuple[int, int, int]) -> None:
    """Say once that no breakpoint of a kernel stops: its grid lacks the chosen program."""
    wanted = str(settings.read("BLOCKSCOPE_PROGRAM"))
    program = [int(part) for part in wanted.split(",") if part.strip()]
    if kernel in _warned or all(at < size for at, size in zip(program, grid, strict=False)):
        return
    _warned.add(kernel)
    user_warnings.warn(
        f"kernel '{kernel}': BLOCKSCOPE_PROGRAM is '{wanted}', and the grid is {grid}: "
        "no breakpoint stops"
    )
