"""Mode ptx: launches compiled for a GPU and run by the machine of tests/python that executes PTX.

Of a launch that would take too long some programs run there, on a copy of its memory, and what they
store is compared with what the CPU makes of the launch. What needs an instruction that the machine
lacks runs on the CPU alone, so that what stands behind it has its results.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from blockscope.frontend.argument import leaves
from blockscope.runtime.backends.backend import Request
from blockscope.runtime.backends.flat import FlatBackend

from practice.case import Case

sys.path.append(str(Path(__file__).parents[2] / "python"))
import gpu_rows  # noqa: E402
import machine_backend  # noqa: E402
from ptx_instruction import NotInMachine  # noqa: E402
from ptx_machine import OutOfTime, Place  # noqa: E402
from ptx_tma_machine import NoTensorMap  # noqa: E402

SECONDS = float(os.environ.get("PRACTICE_MACHINE_SECONDS", 60))
"""So long the machine may take for the launches of a case; a whole launch half of what is left, a
sample a third."""
_ATOMIC = re.compile(r"\b(?:atom|red)\.")


class PracticeBackend(machine_backend.MachineBackend):
    """Runs launches on the machine, and on the CPU those that it cannot, or in part."""

    def __init__(self, arch: str, case: Case) -> None:
        super().__init__(arch, lambda *_: None)
        self.end = time.process_time() + SECONDS
        self.ran: list[str] = []
        self.sampled: list[str] = []
        self.skipped: list[str] = []  # with the reasons
        self._case = case
        self._cpu = FlatBackend()

    def launch(self, kernel: Any, request: Request) -> None:
        values = machine_backend.values_of(request)
        kernel = gpu_rows.as_launched(kernel, values)
        try:
            self._on_machine(kernel, values, request)
        except NoTensorMap:
            self._on_machine(kernel.careful(), values, request)

    def _on_machine(self, kernel: Any, values: list[Any], request: Request) -> None:
        name, left = request.fn.__name__, self.end - time.process_time()
        machine = machine_backend.machine_for(kernel)
        machine.stores_once = False  # rows taken modulo their number are stored twice
        places = [machine_backend.storage_of(value) for value in values]
        try:
            if left < SECONDS / 60:
                raise OutOfTime("the time of the case is over")
            machine.seconds = left / 2
            machine.run(request.grid, places, kernel.metadata.shared)
            self.ran.append(name)
            return
        except NotInMachine as why:
            self.skipped.append(f"{name}: {why}")
        except OutOfTime as why:
            if _ATOMIC.search(kernel.asm["ptx"]) or left < SECONDS / 60:
                self.skipped.append(f"{name}: {why}")
            else:
                machine.seconds = left / 3
                self._sample(name, machine, places, kernel, request)
                return
        except NoTensorMap:
            raise
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        self._run_on_cpu(request)

    def _run_on_cpu(self, request: Request) -> None:
        options = {key: value for key, value in request.options.items() if key != "arch"}
        again = Request(request.fn, request.grid, request.arguments, options)
        self._cpu.launch(self._cpu.compile(again), again)

    def _sample(
        self, name: str, machine: Any, places: list[Any], kernel: Any, request: Request
    ) -> None:
        """Compares what some programs store with the same bytes after the whole launch."""
        copies: dict[int, np.ndarray] = {}
        arguments = []
        for place in places:
            if isinstance(place, Place):
                array = place.array
                copy = copies.setdefault(array.ctypes.data, array.copy())
                place = Place(copy, place.offset)
            arguments.append(place)
        try:
            machine.run(request.grid, arguments, kernel.metadata.shared, is_sample=True)
        except OutOfTime as why:
            self.skipped.append(f"{name}: {why}")
            self._run_on_cpu(request)
            return
        except NoTensorMap:
            raise
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        self._run_on_cpu(request)
        self.sampled.append(f"{name}: {machine.programs} of {np.prod(request.grid)}")
        for leaf, ours, theirs in zip(leaves(request.arguments), arguments, places, strict=True):
            if isinstance(ours, Place) and ours.array.nbytes:
                stored = machine.stored(ours.array)
                found, right = (_elements(leaf.value, place) for place in (ours, theirs))
                size = found.itemsize
                first = ours.offset % size
                stored = stored[first:][: len(found) * size].reshape(-1, size).all(axis=1)
                self._compare(f"{name}: {leaf.name}", found[stored], right[stored])

    def _compare(self, name: str, found: torch.Tensor, right: torch.Tensor) -> None:
        if not len(found):
            return
        ours, theirs = found.to(torch.float64), right.to(torch.float64)
        size = theirs[theirs.isfinite()].abs().max().item() if theirs.isfinite().any() else 1.0
        rtol = self._case.rtol
        if right.is_floating_point():
            rtol = max(rtol, 4 * torch.finfo(right.dtype).eps)
        atol = max(self._case.atol, rtol * size)
        far = ~torch.isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)
        if int(far.sum()) > self._case.share * len(far):
            at = int(far.nonzero()[0])
            raise AssertionError(
                f"{name} differs in {int(far.sum())} of {len(far)} elements that a sample of "
                f"programs stores: {ours[at].item():.6g}, expected {theirs[at].item():.6g}"
            )


def _elements(value: Any, place: Place) -> torch.Tensor:
    """All of a storage as elements of an argument's dtype."""
    dtype = value.dtype if isinstance(value.dtype, torch.dtype) else torch.uint8
    data = torch.from_numpy(place.array)[place.offset % dtype.itemsize :]
    data = data[: len(data) // dtype.itemsize * dtype.itemsize]
    return data.clone().view(dtype)
