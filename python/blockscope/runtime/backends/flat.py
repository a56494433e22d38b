"""Whole kernels on the CPU: block IR lowered to a flat program."""

from __future__ import annotations

import time
from typing import Any

from blockscope import _core, checks, knobs
from blockscope.driver import driver
from blockscope.errors import CompilationError
from blockscope.frontend.argument import Argument, leaves, without_values
from blockscope.frontend.block_ir import Arithmetic, emit
from blockscope.frontend.diagnose import with_source_line
from blockscope.runtime import hooks, key, launcher
from blockscope.runtime.alignment import divisors
from blockscope.runtime.backends import residency
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.backends.cpu_launch import (
    arithmetic_of,
    asserts,
    description,
    finish,
    host_memory,
    open_launch,
)
from blockscope.runtime.cache import FileCacheManager
from blockscope.runtime.compiled_kernel import Asm, CompiledKernel, kept
from blockscope.runtime.memory.host import HostMemory
from blockscope.runtime.options import LAUNCH_OPTIONS, not_defaults, num_warps_of
from blockscope.runtime.specialization import Specialization


class FlatCode:
    """The block IR of a kernel and the flat program that the CPU runs.

    Of all options only those that change the arithmetic change them, and ``num_warps`` where the
    kernel asks for it: then it is the one that the code is for, else None.

    Errors: CompilationError with the user's line when the kernel breaks a rule of the language.
    """

    def __init__(
        self,
        fn: Any,
        arguments: list[Argument],
        *,
        num_warps: int,
        prints: bool,
        arithmetic: Arithmetic,
    ) -> None:
        start = time.perf_counter_ns()
        self.builder, self.used_values, asks = emit(
            fn, arguments, num_warps=num_warps, prints=prints, arithmetic=arithmetic
        )
        self.num_warps = num_warps if asks else None
        emitted = time.perf_counter_ns()
        try:
            self.program = self.builder.compile()
        except ValueError as error:  # what the CPU cannot run, with its place
            raise CompilationError(with_source_line(str(error))) from None
        self.front_end_ns = emitted - start
        self.stages = [("flat", time.perf_counter_ns() - emitted)]
        self._claims: Any = None  # the program in the form that shows claims
        self._shown: Any = None  # and in the one that shows all values

    def program_for(self, launch: Any) -> Any:
        """The flat program in the form that the observers of a launch need."""
        if not (launch.needs_values or launch.needs_claims):
            return self.program
        if self._claims is None:
            self._claims = self.builder.compile_for_claims()
        if not launch.needs_values:
            return self._claims
        if self._shown is None:
            self._shown = self.builder.compile_for_values(self._claims)
        return self._shown


class FlatKernel(CompiledKernel):
    """The code of a kernel with the options of a launch, which are in its metadata."""

    def __init__(
        self,
        fn: Any,
        code: FlatCode,
        arguments: list[Argument],
        options: dict[str, Any],
        specialization: Specialization,
    ) -> None:
        self.code = code
        self._arguments = without_values(arguments)
        options = dict(options)
        metadata = {
            **LAUNCH_OPTIONS,
            **options,
            "name": specialization.name,
            "hash": specialization.hash,
            # Files compute an occupancy from this and n_regs, so they must not be 0.
            "shared": 1024,
            "target": specialization.target,
            "tmem_size": 0,
            "global_scratch_size": 0,
            "profile_scratch_size": 0,
        }
        super().__init__(
            fn, arguments, code.used_values, specialization.hash, metadata, specialization
        )
        self.launch_options = options
        self.n_regs = 32
        self.n_spills = 0
        self.n_max_threads = 1024
        self.function = self.module = None
        self._is_loaded = False

    def _init_handles(self) -> None:
        """Nothing is loaded on the CPU, but who hangs on loading hears of each kernel once."""
        if not self._is_loaded:
            self._is_loaded = True
            hooks.load_begins(self)
            hooks.load_ends(self, None, None)

    def short_way(self, device: int) -> Any:
        # Its arguments were copied from a GPU, or its libraries are files that may change.
        if device >= 0 or self.launch_options.get("extern_libs"):
            return None
        return _core.CpuShortWay(
            kernel=self.fn.__name__,
            program=self.code.program,
            names=[argument.name for argument in leaves(self._arguments)],
            asserts=asserts(self.launch_options),
            program_for=self.code.program_for,
            describe=lambda: description(self._arguments, self.launch_options),
        )

    @property
    def asm(self) -> dict[str, Any]:
        """The texts of the stages: ``tl`` (also as ``ttir`` and ``source``) is the block IR."""
        text = self.code.builder.text(True)
        return Asm({"tl": text, "ttir": text, "source": text})


class FlatBackend:
    """Runs whole kernels on the CPU."""

    def memory(self) -> HostMemory:
        return host_memory()

    def code(
        self,
        fn: Any,
        arguments: list[Argument],
        *,
        num_warps: int,
        prints: bool,
        arithmetic: Arithmetic,
    ) -> tuple[FlatCode, bool]:
        """The code for these arguments, and whether it was there before."""
        known = key.of_launch(arguments, _core.surroundings.settings("cpu"), *arithmetic)
        code = fn.codes.get(known)
        if (
            code is not None
            and code.num_warps in (None, num_warps)
            and _core.are_used_values_fresh(code.used_values)
        ):
            return code, True
        code = fn.codes[known] = FlatCode(
            fn, arguments, num_warps=num_warps, prints=prints, arithmetic=arithmetic
        )
        return code, False

    def compile(self, request: Request) -> FlatKernel:
        launcher.register_torch()
        fn, arguments = request.fn, request.arguments
        options = not_defaults(request.options)
        aligned = divisors(fn, arguments)
        arithmetic = arithmetic_of(request.options)

        def specialize() -> Specialization:
            target = driver.active.get_current_target()
            return Specialization(fn, arguments, options, target, request.device, aligned)

        def compile(specialization: Specialization) -> FlatKernel:
            code, is_known = self.code(
                fn,
                arguments,
                num_warps=num_warps_of(request.options),
                prints=True,
                arithmetic=arithmetic,
            )
            kernel = FlatKernel(fn, code, arguments, options, specialization)
            if knobs.runtime.add_stages_inspection_hook is not None:
                hooks.refuse_changes(specialization, {"tl": kernel.asm["tl"]})
            if knobs.compilation.dump_ir:
                dumps = FileCacheManager(kernel.hash, dump=True)
                dumps.put(kernel.asm["tl"], f"{_core.gpu.file_stem(kernel.name)}.tl")
            stages = [] if is_known else code.stages
            hooks.compiled(kernel, code.front_end_ns, stages, 0, is_hit=is_known)
            return kernel

        settings = _core.surroundings.settings("cpu")
        known = key.of_launch(
            arguments, settings, options, *arithmetic, aligned, *hooks.stages_key()
        )
        return kept(fn, known, specialize, compile, is_warmup=request.is_warmup)

    def launch(self, kernel: FlatKernel, request: Request) -> None:
        kernel._init_handles()
        with checks.watching() as sessions:
            launch = open_launch(request, sessions)
            if sessions:
                residency.answer(launch, request)

            def run() -> None:
                try:
                    bits = [a.bits for a in leaves(request.arguments)]
                    launch.run(kernel.code.program_for(launch), bits)
                finally:
                    finish(request.arguments)

            hooks.around_launch(request, kernel, run)
