"""Launches on CPU tensors, compiled for a GPU and run by a machine for PTX: a backend of tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpu_rows
import numpy as np
import ptx_matrix_machine
import pytest
import torch
from blockscope.frontend.argument import leaves
from blockscope.runtime.backends import choice
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.backends.cuda.backend import CudaBackend
from blockscope.runtime.memory.device import ANY_DEVICE
from blockscope.runtime.memory.host import HostMemory
from ptx_machine import Schedule


class MachineBackend:
    """Compiles for ``arch``; ``run(kernel, grid, values)`` gets the values of the run-time
    arguments, tensors among them."""

    def __init__(self, arch: str, run: Callable[[Any, Any, list[Any]], None]) -> None:
        self.arch = arch
        self.run = run

    def memory(self) -> HostMemory:
        return HostMemory()

    def compile(self, request: Request) -> Any:
        request.options = {**request.options, "arch": self.arch}
        kernel = CudaBackend(ANY_DEVICE).compile(request)
        assert kernel.warnings == []
        return kernel

    def launch(self, kernel: Any, request: Request) -> None:
        self.run(kernel, request.grid, [_typed(leaf) for leaf in leaves(request.arguments)])


def _typed(leaf: Any) -> Any:
    """A number of the width that the kernel takes; a tensor as it is."""
    if leaf.buffer is not None:
        return leaf.value
    kinds = {"int32": np.int32, "int64": np.int64, "fp32": np.float32}
    return kinds[str(leaf.type)](leaf.value)


def storage_of(value: Any) -> Any:
    """An argument as the machine takes it: of a tensor the bytes of its storage."""
    if isinstance(value, torch.Tensor):
        return torch.empty(0, dtype=torch.uint8).set_(value.untyped_storage()).numpy()
    return value


def use(monkeypatch: pytest.MonkeyPatch, backend: MachineBackend) -> None:
    """From now on launches on CPU tensors go to the machine, each compiled anew."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    monkeypatch.setattr(choice, "FLAT", backend)


def record(monkeypatch: pytest.MonkeyPatch, arch: str, seed: int | None = None) -> list[Any]:
    """From now on launches on CPU tensors go to the machine with matrix instructions, its warps in
    an order made from ``seed``; gives the list that the kernels come into, in the order they ran.
    """
    made: list[Any] = []

    def run(kernel: Any, grid: Any, values: list[Any]) -> None:
        kernel = gpu_rows.as_launched(kernel, values)
        maps = kernel.data["tensor_maps"]
        machine = ptx_matrix_machine.Machine(kernel.asm["ptx"], kernel.metadata.num_warps, maps)
        if seed is not None:
            machine.schedule = Schedule(seed=seed)
        machine.run(grid, [storage_of(value) for value in values], kernel.metadata.shared)
        made.append(kernel)

    use(monkeypatch, MachineBackend(arch, run))
    return made
