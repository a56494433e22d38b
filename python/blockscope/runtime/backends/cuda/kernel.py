"""A kernel compiled for the GPU: its texts, its binary, its launches."""

from __future__ import annotations

import subprocess
import tempfile
import weakref
from collections.abc import Callable
from typing import Any

from blockscope import _core, host, knobs
from blockscope.driver.cuda import current_device
from blockscope.frontend.argument import Argument, leaves
from blockscope.process_lock import ProcessLock
from blockscope.runtime import hooks
from blockscope.runtime.backends.cuda import debug, tools
from blockscope.runtime.backends.cuda import notes as kernel_notes
from blockscope.runtime.compiled_kernel import Asm, CompiledKernel
from blockscope.runtime.specialization import Specialization
from blockscope.version import TRITON_VERSION

Pairs = tuple[tuple[int, int], ...]
"""Of run-time arguments, by number."""


class GpuAsm(Asm):
    """The stages of a kernel by name; ``sass`` is disassembled when it is first asked for."""

    def __init__(self, data: dict[str, Any]) -> None:
        known = {"ttir": "tl", "source": "tl", "ttgir": "tlg"}
        names = {n: n for n in ("tl", "plan", "tlg", "llir", "ptx", "cubin")} | known
        # Texts are missing of a kernel that was stored without them.
        super().__init__({n: data[stage] for n, stage in names.items() if stage in data})

    def __missing__(self, name: str) -> Any:
        if name != "sass":
            return super().__missing__(name)
        self["sass"] = _disassemble(self["cubin"])
        return self["sass"]


def _disassemble(cubin: bytes) -> str:
    programs = ((tools.cuobjdump(), "-sass"), (tools.nvdisasm(), "-c"))
    for program, option in programs:
        if not program:
            continue
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            return subprocess.run(
                [program, option, file.name], check=True, capture_output=True, text=True
            ).stdout
    raise RuntimeError(
        "asm['sass'] needs cuobjdump or nvdisasm of the CUDA toolkit, which were not found; set "
        "TRITON_CUOBJDUMP_PATH or CUDA_HOME"
    )


class CudaKernel(CompiledKernel):
    """One kernel for one set of argument types, constants and options, on any device of its target.

    ``data`` is what ``_core.gpu.compile`` gives, or what the cache on disk kept of it.
    """

    def __init__(
        self,
        specialization: Specialization,
        arguments: list[Argument],
        used_values: list[Any],
        key: str,
        data: dict[str, Any],
        options: dict[str, Any],
        make_careful: Callable[[Pairs], CudaKernel] | None = None,
    ) -> None:
        fn, target = specialization.source.fn, specialization.target
        metadata = _metadata(key, data, options, target)
        super().__init__(fn, arguments, used_values, key, metadata, specialization)
        self.data = data
        self.asm = GpuAsm(data)
        self.kernel = data["cubin"]
        self.launch_options = options
        self.target = target
        self.warnings = list(data.get("warnings", ()))  # of ptxas, in its words
        self.notes = kernel_notes.notes_of(fn, data)
        self._argument_count = len(leaves(arguments))
        # Compiles the kernel for arguments of which these pairs overlap; without pairs for any,
        # tensors that TMA cannot copy and small sizes among them.
        self._make_careful = make_careful
        self._careful: dict[Pairs, CudaKernel] = {}
        self._disjoint = data.get("disjoint", [])  # pairs of run-time arguments
        self._at_least = data.get("at_least", [])  # numbers of integers, their bits, and the least
        self._handles: dict[int, Any] = {}
        self._is_unloaded = False
        self._lock = ProcessLock()

    def careful(self, overlapping: Pairs = ()) -> CudaKernel:
        """This kernel compiled for launches of which these pairs overlap; without pairs,
        to rely on nothing about the arguments."""
        if self._make_careful is None:
            return self
        kernel = self._careful.get(overlapping)
        if kernel is None:
            kernel = self._careful[overlapping] = self._make_careful(overlapping)
        return kernel

    def fitting(self, bits: list[int], owners: list[Any]) -> CudaKernel:
        """The kernel that a launch on these run-time arguments runs, as GpuShortWay decides it."""
        if self.has_small_sizes(bits):
            return self.careful()
        pairs = _core.gpu.overlapping(self._disjoint, owners) if self._disjoint else ()
        return self.careful(tuple(pairs)) if pairs else self

    # -- loading ----------------------------------------------------------------------------------

    def handle(self, device: int | None = None) -> Any:
        """The kernel loaded on a device; the current one by default.

        Errors: OutOfResources when the device has too little of something, LaunchError.
        """
        if device is None:
            device = current_device()
        handle = self._handles.get(device)
        if handle is None:
            with self._lock:
                handle = self._handles.get(device) or self._load(device)
                self._handles[device] = handle
        return handle

    def _load(self, device: int) -> Any:
        hooks.load_begins(self)
        weak = weakref.ref(self)

        def careful_handle(overlapping: list[tuple[int, int]]) -> Any:
            """For C++, which keeps this function as long as the handle, and not the kernel."""
            kernel = weak()
            if kernel is None:
                raise ReferenceError(f"kernel '{handle.name}' is gone")
            return kernel.careful(tuple(overlapping)).handle(device)

        handle = _core.gpu.load(
            name=self.data["name"],
            binary=self.data["cubin"],
            device=device,
            num_warps=self.data["num_warps"],
            num_ctas=self.data["num_ctas"],
            shared_bytes=self.data["shared"],
            cooperative=bool(self.launch_options.get("launch_cooperative_grid")),
            programmatic_dependent=bool(self.launch_options.get("launch_pdl")),
            tensor_maps=self.data.get("tensor_maps", []),
            careful=careful_handle if self._make_careful else None,
        )
        if knobs.runtime.kernel_load_end_hook:  # reading the addresses keeps the code loaded
            hooks.load_ends(self, handle.module, handle.function)
        return handle

    def __del__(self) -> None:
        """Unload it, which ``knobs.runtime.kernel_unload_hook`` hears before."""
        handles = self.__dict__.get("_handles", {})  # not there when making it has failed
        self._handles, self._is_unloaded = {}, True
        if knobs is not None and knobs.runtime.kernel_unload_hook:  # None: Python is ending
            for handle in handles.values():
                hooks.unloads(self, handle.module, handle.function)

    def _init_handles(self) -> None:
        """Load the kernel on the current device."""
        self.handle()

    @property
    def module(self) -> int | None:
        return None if self._is_unloaded else self.handle().module

    @property
    def function(self) -> int | None:
        return None if self._is_unloaded else self.handle().function

    @property
    def n_regs(self) -> int:
        """Registers of one thread."""
        return self.data["registers"] or self.handle().n_regs

    @property
    def n_spills(self) -> int:
        """32-bit words of one thread that do not fit its registers."""
        return self.data["spill_bytes"] // 4

    @property
    def n_max_threads(self) -> int:
        """The largest CTA that this kernel's registers allow."""
        return self.handle().max_threads

    # -- launching --------------------------------------------------------------------------------

    def launch(
        self, size: Any, bits: list[int], device: int, stream: int, owners: list[Any]
    ) -> None:
        """Launch on a grid; ``bits`` are the run-time arguments, 8 bytes each, ``owners`` the
        tensors among them.

        Errors: LaunchError; also for a device_assert that failed, when the kernel has any.
        """
        handle = self.handle(device)
        if (kernel := self.fitting(bits, owners)) is not self:
            handle = kernel.handle(device)
        memory = self._scratch(size, stream)
        if memory is not None:
            bits = [*bits, memory.data_ptr()]
        if not self.data["takes_debug_buffer"]:
            handle.launch(size, bits, stream)
            return
        if _core.gpu.is_capturing(stream):
            handle.launch(size, [*bits, debug.unread_buffer(self, device)], stream)
            return
        buffer = debug.DebugBuffer(self, device)
        handle.launch(size, [*bits, buffer.address], stream)
        buffer.report(stream)

    def has_small_sizes(self, bits: list[int]) -> bool:
        """Whether an integer that the kernel takes for a size is too small: negative, or 0."""
        return any(_signed(bits[number], width) < least for number, width, least in self._at_least)

    def _scratch(self, size: Any, stream: int) -> Any:
        """Memory for the whole grid, of ``triton.set_allocator`` or of torch; None if unused."""
        per_program = self.data["global_scratch_size"]
        if not per_program:
            return None
        total = per_program * size[0] * size[1] * size[2] * self.data["num_ctas"]
        allocator = host.get_allocator()
        if not isinstance(allocator, host.NullAllocator):
            return allocator(total, self.data["global_scratch_align"], stream)
        import torch

        return torch.empty(total, dtype=torch.uint8, device="cuda")

    def short_way(self, device: int) -> Any:
        if self.data["takes_debug_buffer"] or device not in self._handles:
            return None
        return _core.GpuShortWay(
            handle=self._handles[device],
            argument_count=self._argument_count,
            disjoint=self._disjoint,
            at_least=self._at_least,
            scratch=self._scratch if self.data["global_scratch_size"] else None,
        )

    def __repr__(self) -> str:
        return f"<kernel {self.name} for {self.target.backend} {self.target.arch}>"


def _signed(bits: int, width: int) -> int:
    low = bits & (1 << width) - 1
    return low - (low >> (width - 1) << width)


def _metadata(
    key: str, data: dict[str, Any], options: dict[str, Any], target: Any
) -> dict[str, Any]:
    return {
        **options,
        "name": data["name"],
        "hash": key,
        "target": target,
        "num_warps": data["num_warps"],
        "num_ctas": data["num_ctas"],
        "cluster_dims": (data["num_ctas"], 1, 1),
        "shared": data["shared"],
        "global_scratch_size": data["global_scratch_size"],
        "global_scratch_align": data["global_scratch_align"],
        "profile_scratch_size": 0,
        "profile_scratch_align": 1,
        "tmem_size": 0,
        "triton_version": TRITON_VERSION,
    }
