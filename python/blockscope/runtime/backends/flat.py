"""Whole kernels on the CPU: block IR lowered to a flat program."""

from __future__ import annotations

import copy
from typing import Any

from blockscope import _core, checks
from blockscope.driver import driver
from blockscope.frontend.argument import Argument, leaves, without_values
from blockscope.frontend.block_ir import emit
from blockscope.runtime import hooks, key, launcher
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.backends.cpu_launch import (
    asserts,
    description,
    finish,
    host_memory,
    open_launch,
)
from blockscope.runtime.compiled_kernel import CompiledKernel, kept
from blockscope.runtime.memory.host import HostMemory
from blockscope.runtime.options import LAUNCH_OPTIONS


class FlatKernel(CompiledKernel):
    """The block IR of a kernel and the flat program that the CPU runs.

    Errors: CompilationError with the user's line when the kernel breaks a rule of the language.
    """

    def __init__(self, fn: Any, arguments: list[Argument], *, prints: bool = True) -> None:
        builder, used_values = emit(fn, arguments, prints=prints)
        self.program = builder.compile()
        self._builder = builder
        self._shown: Any = None  # the program in the form that shows values
        self._arguments = without_values(arguments)
        self._options: dict[str, Any] = {}
        self._by_options: dict[Any, FlatKernel] = {}
        metadata = {
            **LAUNCH_OPTIONS,
            "name": fn.repr(),
            "hash": fn.cache_key,
            # Files compute an occupancy from this and n_regs, so they must not be 0.
            "shared": 1024,
            "target": driver.active.get_current_target(),
            "tmem_size": 0,
            "global_scratch_size": 0,
            "profile_scratch_size": 0,
        }
        super().__init__(fn, arguments, used_values, fn.cache_key, metadata)
        self.n_regs = 32
        self.n_spills = 0
        self.n_max_threads = 1024
        self.function = self.module = None

    def with_options(self, options: dict[str, Any]) -> FlatKernel:
        """This kernel with the options of a launch in its metadata; its code is the same."""
        if not options:
            return self
        known = _core.LaunchKey(options)
        kernel = self._by_options.get(known)
        if kernel is None:
            kernel = self._by_options[known] = copy.copy(self)
            kernel._options = dict(options)
            metadata: Any = self.metadata
            kernel.metadata = kernel.packed_metadata = metadata._replace(**options)
        return kernel

    def short_way(self, device: int) -> Any:
        if device >= 0:  # its arguments were copied from a GPU
            return None
        return _core.CpuShortWay(
            kernel=self.fn.__name__,
            program=self.program,
            names=[argument.name for argument in leaves(self._arguments)],
            asserts=asserts(self.fn, self._options),
            program_for=self.program_for,
            describe=lambda: description(self._arguments, self._options),
        )

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
        launcher.register_torch()
        fn, arguments = request.fn, request.arguments
        settings = _core.surroundings.settings("cpu")

        def compile() -> FlatKernel:
            return FlatKernel(fn, arguments, prints=prints)

        kernel = kept(fn, key.of_launch(arguments, settings), compile)
        return kernel.with_options(request.options)

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
