"""The general way to the GPU: from classified arguments to a compiled kernel and its launch.

The first launch of every kernel and key comes through here, and every launch that something
watches; the C++ launcher (python/src/launcher.h) repeats the rest by itself.
"""

from __future__ import annotations

from dataclasses import asdict

from blockscope import _core
from blockscope.frontend.argument import leaves
from blockscope.runtime import hooks, key, launcher
from blockscope.runtime.alignment import divisors
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.backends.cuda import devices, excepthook
from blockscope.runtime.backends.cuda.compile import compile
from blockscope.runtime.backends.cuda.kernel import CudaKernel
from blockscope.runtime.backends.cuda.options import parse_options, refuse_unsupported, target_of
from blockscope.runtime.compiled_kernel import kept
from blockscope.runtime.extern_libs import libraries_of
from blockscope.runtime.grid import beyond_gpus
from blockscope.runtime.memory.device import DeviceMemory
from blockscope.runtime.specialization import Specialization


class CudaBackend:
    """Runs kernels on one GPU; with ANY_DEVICE it only compiles."""

    def __init__(self, device: int) -> None:
        self._device = device

    def memory(self) -> DeviceMemory:
        return DeviceMemory(self._device)

    def compile(self, request: Request) -> CudaKernel:
        """The kernel for these arguments: from this process, from disk, or compiled now."""
        launcher.register_torch()
        fn, arguments = request.fn, request.arguments
        target = target_of(request.options, self._device)
        refuse_unsupported(request.options, int(target.arch))
        options = parse_options(request.options)
        aligned = divisors(fn, arguments)
        settings = _core.surroundings.settings("gpu")

        def specialize() -> Specialization:
            return Specialization(fn, arguments, asdict(options), target, self._device, aligned)

        def compile_now(specialization: Specialization) -> CudaKernel:
            return compile(specialization, arguments, aligned, options)

        libraries = libraries_of(options.extern_libs)
        parts = (target, options, libraries, settings, aligned, *hooks.stages_key())
        known = key.of_launch(arguments, *parts)
        return kept(fn, known, specialize, compile_now, is_warmup=request.is_warmup)

    def launch(self, kernel: CudaKernel, request: Request) -> None:
        excepthook.install(_core.gpu.recent_launches)
        _check_grid(request)
        device = self._device
        given = leaves(request.arguments)
        owners = [a.value for a in given]
        stream = devices.current_stream(device, owners)
        bits = [a.bits if a.buffer is None else a.buffer.pointer for a in given]

        def launch() -> None:
            kernel.launch(request.grid, bits, device, stream, owners)

        hooks.around_launch(
            request,
            kernel,
            launch,
            function=lambda: kernel.handle(device).function,
            stream=stream,
        )


def _check_grid(request: Request) -> None:
    if said := beyond_gpus(request.grid):
        raise ValueError(f"kernel '{request.fn.__name__}': {said}")
