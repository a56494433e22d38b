"""Launches on CPU tensors, compiled for a GPU and run by a machine for PTX: a backend of tests."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import gpu_rows
import numpy as np
import ptx_matrix_machine
import pytest
from blockscope import _core
from blockscope.frontend.argument import leaves
from blockscope.runtime.backends import choice
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.backends.cuda.backend import CudaBackend
from blockscope.runtime.memory.device import ANY_DEVICE
from blockscope.runtime.memory.host import HostMemory
from ptx_machine import Place, Schedule


class MachineBackend:
    """Compiles for ``arch``; ``run(kernel, grid, values)`` gets the values of the run-time
    arguments, tensors among them. ptxas warns of nothing, but with ``is_crowded`` of too few
    registers."""

    def __init__(
        self, arch: str, run: Callable[[Any, Any, list[Any]], None], is_crowded: bool = False
    ) -> None:
        self.arch = arch
        self.run = run
        self.is_crowded = is_crowded

    def memory(self) -> HostMemory:
        return HostMemory()

    def compile(self, request: Request) -> Any:
        request.options = {**request.options, "arch": self.arch}
        return CudaBackend(ANY_DEVICE).compile(request)

    def launch(self, kernel: Any, request: Request) -> None:
        expected = "insufficient register resources" if self.is_crowded else None
        assert [w for w in kernel.warnings if not expected or expected not in w] == []
        self.run(kernel, request.grid, values_of(request))


def values_of(request: Request) -> list[Any]:
    """The run-time arguments: tensors as they are, of numbers the bits."""
    return [
        np.uint64(leaf.bits) if leaf.buffer is None else leaf.value
        for leaf in leaves(request.arguments)
    ]


def storage_of(value: Any) -> Any:
    """An argument as the machine takes it: of a tensor the bytes of its storage, and its place."""
    if isinstance(value, np.generic):
        return value
    buffer = HostMemory().describe(value, "argument")
    if not buffer.storage_bytes:
        return Place(np.zeros(0, np.uint8), 0)
    data = (ctypes.c_uint8 * buffer.storage_bytes).from_address(buffer.storage)
    return Place(np.frombuffer(data, np.uint8), buffer.pointer - buffer.storage)


def machine_for(kernel: Any) -> ptx_matrix_machine.Machine:
    """The machine with matrix instructions, with the code of a kernel."""
    return ptx_matrix_machine.machine_for(kernel)


def run(
    kernel: Any,
    arguments: list[Any],
    constants: dict[str, int],
    arch: str = "sm_90a",
    **options: Any,
) -> Any:
    """Compiles a kernel for these NumPy arrays and integers, runs one program, and returns it."""
    compiled = kernel.warmup(*arguments, **constants, grid=(1,), arch=arch, **options)
    machine_for(compiled).run((1, 1, 1), arguments, compiled.metadata.shared)
    return compiled


_launchers_held: list[None] = []


def use(monkeypatch: pytest.MonkeyPatch, backend: Any) -> None:
    """From now on launches on CPU tensors go to the machine, each compiled anew."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    monkeypatch.setattr(choice, "FLAT", backend)
    # A launch that an earlier test made on the CPU is repeated in C++, past the backend.
    _core.surroundings.hold()
    _launchers_held.append(None)


def release_launchers() -> None:
    """At the end of a test: launches are repeated in C++ again."""
    while _launchers_held:
        _launchers_held.pop()
        _core.surroundings.release()


def record(monkeypatch: pytest.MonkeyPatch, arch: str, seed: int | None = None) -> list[Any]:
    """From now on launches on CPU tensors go to the machine with matrix instructions, its warps in
    an order made from ``seed``; gives the list that the kernels come into, in the order they ran.
    """
    return _record(monkeypatch, arch, seed)[0]


def record_machines(monkeypatch: pytest.MonkeyPatch, arch: str) -> list[Any]:
    """As ``record``, with the machines that ran the kernels."""
    return _record(monkeypatch, arch, None)[1]


def _record(
    monkeypatch: pytest.MonkeyPatch, arch: str, seed: int | None
) -> tuple[list[Any], list[Any]]:
    kernels: list[Any] = []
    machines: list[Any] = []

    def run_recorded(kernel: Any, grid: Any, values: list[Any]) -> None:
        kernel = gpu_rows.as_launched(kernel, values)
        machine = machine_for(kernel)
        if seed is not None:
            machine.schedule = Schedule(seed=seed)
        machine.run(grid, [storage_of(value) for value in values], kernel.metadata.shared)
        kernels.append(kernel)
        machines.append(machine)

    use(monkeypatch, MachineBackend(arch, run_recorded))
    return kernels, machines
