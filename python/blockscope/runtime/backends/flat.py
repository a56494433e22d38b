"""Whole kernels on the CPU: block IR lowered to a flat program."""

from __future__ import annotations

from typing import Any

from blockscope import checks
from blockscope.driver import driver
from blockscope.frontend.argument import Argument, leaves
from blockscope.frontend.block_ir import emit
from blockscope.runtime import hooks, key
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.backends.cpu_launch import finish, host_memory, open_launch
from blockscope.runtime.compiled_kernel import CompiledKernel, kept
from blockscope.runtime.memory.host import HostMemory
from blockscope.runtime.options import LAUNCH_OPTIONS


class FlatKernel(CompiledKernel):
    """The block IR of a kernel and the flat program that the CPU runs.

    Errors: CompilationError with the user's line when the kernel breaks a rule of the language.
    """

    def __init__(
        self, fn: Any, arguments: list[Argument], options: dict[str, Any], *, prints: bool = True
    ) -> None:
        builder, used_globals = emit(fn, arguments, prints=prints)
        self.program = builder.compile()
        self._builder = builder
        self._shown: Any = None  # the program in the form that shows values
        metadata = {
            **LAUNCH_OPTIONS,
            **options,
            "name": fn.repr(),
            "hash": fn.cache_key,
            # Files compute an occupancy from this and n_regs, so they must not be 0.
            "shared": 1024,
            "target": driver.active.get_current_target(),
            "tmem_size": 0,
            "global_scratch_size": 0,
            "profile_scratch_size": 0,
        }
        super().__init__(fn, arguments, used_globals, fn.cache_key, metadata)
        self.n_regs = 32
        self.n_spills = 0
        self.n_max_threads = 1024
        self.function = self.module = None

    def program_for(self, launch: Any) -> Any:
        """The flat program in the form that the observers of a launch need."""
        if not launch.needs_values:
            return self.program
        if self._shown is None:
            self._shown = self._builder.compile_for_values()
        return self._shown

    @property
    def asm(self) -> dict[str, Any]:
        """The texts of the stages: ``tl`` (also as ``ttir`` and ``source``) is the block IR."""
        text = self._builder.text(True)
        return {"tl": text, "ttir": text, "source": text}


class FlatBackend:
    """Runs whole kernels on the CPU."""

    def memory(self) -> HostMemory:
        return host_memory()

    def compile(self, request: Request, *, prints: bool = True) -> FlatKernel:
        fn, arguments = request.fn, request.arguments

        def compile() -> FlatKernel:
            return FlatKernel(fn, arguments, request.options, prints=prints)

        return kept(fn, key.of_launch(arguments), compile)

    def launch(self, kernel: FlatKernel, request: Request) -> None:
        with checks.watching() as sessions:
            launch = open_launch(request, sessions)

            def run() -> None:
                try:
                    bits = [a.bits for a in leaves(request.arguments)]
                    launch.run(kernel.program_for(launch), bits)
                finally:
                    finish(request.arguments)

            hooks.around_launch(request, kernel, run)
