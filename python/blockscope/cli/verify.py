"""``blockscope verify``: each launch of a script on the CPU and on the GPU, on the same inputs.

What the script goes on with is the result of the device where its tensors are.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from blockscope import _core, checks, knobs
from blockscope.cli.launch_copies import CannotCopy, Copies, tensors_of
from blockscope.cli.pointer_tables import tables_in, tensors_behind
from blockscope.cli.script import Runs
from blockscope.cli.usage import UsageError
from blockscope.errors import TritonError
from blockscope.formulas import algebra
from blockscope.language.linear import default_input_precision
from blockscope.runtime import hooks

#: Those whose sums may be in another order where floats are added.
_REORDERED = frozenset({"tl.dot", "tl.reduce", "tl.scan", "tl.atomic_rmw"})
_OPS = re.compile(r"\b(?:arith|math|tl)\.\w+")
_FLOATS = re.compile(r"(?:\b|(?<=x))(?:f16|bf16|f32|f64|f8E\w+)\b")
_ATOMICS = re.compile(r"(%[\w.]+) = tl\.atomic_(?:rmw|cas)\b")
_POINTERS_FROM_MEMORY = re.compile(r"\btl\.int_to_ptr\b")

#: Runs with other rounding errors that show how far errors reach, and how many times as far as in
#: any of these runs a result may be: an element that varied too little in all of them is rare.
_NOISE_RUNS, _MARGIN = 8, 4.0
_LOUD_RUNS, _AMPLIFICATION = 4, 32.0


def verify_script(script: Runs, options: argparse.Namespace) -> int:
    """Run the script; its status, or the chosen one when a launch differs."""
    verifier = verifier_of_this_machine()
    with verifier.watching(), algebra() if options.algebra else nullcontext():
        status = script.run()
    return ending(verifier, status, options)


def verifier_of_this_machine(asked: str = "verify") -> Verifier:
    """One that runs launches on its GPU, too, for what was ``asked`` for. Errors: UsageError where
    it has none to use."""
    reason = _core.gpu.why_unavailable()
    if reason is not None:
        why = reason.partition(";")[0]  # what follows says how to run a kernel here
        raise UsageError(
            f"{asked} compares with a GPU, and there is none to use: {why}; 'blockscope check' and "
            "'blockscope compile' need none"
        )
    try:
        import torch
    except ImportError:
        raise UsageError(f"{asked} needs torch, which is not installed") from None
    if not torch.cuda.is_available():
        raise UsageError(f"{asked} needs a torch with CUDA; this torch finds no GPU")
    # Both runs multiply float32 as the GPU does when the kernel does not say.
    os.environ.setdefault("TRITON_F32_DEFAULT", default_input_precision(on_gpu=True))
    return Verifier(f"cuda:{torch.cuda.current_device()}")


def ending(verifier: Verifier, status: int, options: argparse.Namespace) -> int:
    """Print what was found; the status of the command, where the file ended with ``status``."""
    print(verifier.summary(), file=sys.stderr)
    if status and options.algebra and verifier.compared:
        print(
            f"verify: the file ended with status {status}, which does not count: its results in "
            "the algebra are no numbers, so that its own comparisons fail",
            file=sys.stderr,
        )
        status = 0
    return options.exit_code if verifier.differences else status or int(verifier.failures > 0)


def inexact_ops(ir: str, *, fuses: bool) -> list[str]:
    """The operations of a kernel's block IR that may give a GPU other bits than the CPU."""
    if not _FLOATS.search(ir):
        return []
    used = set(_OPS.findall(ir))
    inexact = {row["name"] for row in _core.op_facts() if not row["same_everywhere"]}
    if is_algebra(ir):
        return sorted(used & inexact - _REORDERED)
    inexact |= _REORDERED
    if fuses and used & {"arith.addf", "arith.subf"}:
        inexact.add("arith.mulf")
    return sorted(used & inexact)


def is_algebra(ir: str) -> bool:
    """Whether a kernel's floats are integers, whose sums have no order (docs/algebra.md)."""
    return "tl.to_payload" in ir


def uses_what_atomics_return(ir: str) -> bool:
    """Whether a kernel's results may depend on which program came first to an atomic."""
    return any(
        len(re.findall(rf"{re.escape(name)}(?![\w.])", ir)) > 1 for name in _ATOMICS.findall(ir)
    )


class Verifier:
    """Runs launches twice and compares; counts what it finds."""

    def __init__(self, device: str) -> None:
        self._device = device  # where the other run goes: a GPU, but in tests
        self.launches = self.differences = self.failures = self.skipped = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Inside, every launch is verified."""
        with hooks.intercepted(self.launch), knobs.runtime.scope():
            knobs.runtime.interpret = False
            yield

    def launch(
        self, run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
    ) -> Any:
        """In the place of one launch: it and its twin."""
        if warmup:
            return run(fn, grid, args, kwargs, warmup=True)
        return self._launch(run, fn, args, grid, kwargs)

    def count(self) -> int:
        """How many launches went wrong."""
        return self.differences + self.failures

    @property
    def compared(self) -> int:
        """How many launches ran on both devices."""
        return self.launches - self.failures - self.skipped

    def summary(self) -> str:
        text = f"verify: {self.launches} launches, {self.differences} with differences"
        if self.failures:
            text += f", {self.failures} that did not run on the GPU"
        if self.skipped:
            text += f", {self.skipped} not verified"
        return text

    # -- one launch -------------------------------------------------------------------------------

    def _launch(self, run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any]) -> Any:
        number = _core.next_launch_number()
        heading = f"launch {number} of '{fn.__name__}'"
        try:
            return self._compared(run, fn, args, grid, kwargs, heading)
        finally:
            _core.number_next_launch(min(number + 1, _core.next_launch_number()))  # not one a run

    def _compared(
        self, run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], heading: str
    ) -> Any:
        self.launches += 1
        try:
            launch = Launch(run, fn, args, grid, kwargs)
        except CannotCopy as reason:
            self.skipped += 1
            _say(f"{heading}: not verified: {reason}")
            return run(fn, grid, args, kwargs)
        on_cpu, on_gpu = launch.copies("cpu"), launch.copies(self._device)
        result = launch.run_on(on_cpu)
        try:
            gpu_result = launch.run_on(on_gpu)
            _synchronize()
        except (TritonError, RuntimeError) as error:
            self.failures += 1
            _say(f"{heading}: does not run on the GPU: {error}")
            on_cpu.copy_back(launch.tensors)
            return result
        lines = differences(launch, on_cpu, on_gpu)
        for line in lines:
            _say(line if line.startswith(" ") else f"{heading}: {line}")
        self.differences += bool(lines)
        is_gpu_script = any(tensor.is_cuda for tensor in launch.tensors.values())
        (on_gpu if is_gpu_script else on_cpu).copy_back(launch.tensors)
        return gpu_result if is_gpu_script else result


class Launch:
    """A launch that can be run again and again, on the inputs that it has now.

    Errors: CannotCopy when its inputs fit only the device where they are.
    """

    def __init__(self, run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any]) -> None:
        self._run, self._fn, self._args, self._grid, self._kwargs = run, fn, args, grid, kwargs
        named = [*zip(fn.arg_names, args, strict=False)]
        named += [(name, value) for name, value in kwargs.items() if name in fn.arg_names]
        self.tensors: dict[str, Any] = {}
        for name, value in named:
            self.tensors.update(tensors_of(value, name))
        for_cpu = {**kwargs, "arch": "cpu"}
        self.ir: str = run(fn, grid, args, for_cpu, warmup=True).asm["tl"]
        self._tables: dict[str, Any] = {}
        if _POINTERS_FROM_MEMORY.search(self.ir):
            self._tables = tables_in(self.tensors)
            self.tensors |= tensors_behind(self._tables)
        self._before = Copies(self.tensors, "cpu")

    @property
    def fuses(self) -> bool:
        return bool(self._kwargs.get("enable_fp_fusion", knobs.language.default_fp_fusion))

    def copies(self, device: str) -> Copies:
        return Copies(self.tensors, device)

    def run_on(self, copies: Copies) -> Any:
        args = [copies.argument(value) for value in self._args]
        kwargs = {name: copies.argument(value) for name, value in self._kwargs.items()}
        with copies.own_addresses(self._tables, self.tensors):
            return self._run(self._fn, self._grid, args, kwargs)

    @contextmanager
    def _run_again(self, on_cpu: Copies, watcher: Any) -> Iterator[None]:
        """Inside, the memory of the CPU's run holds what one more run leaves, with a watcher."""
        kept = {name: on_cpu.storage(tensor).clone() for name, tensor in self.tensors.items()}
        for tensor in self.tensors.values():
            on_cpu.storage(tensor).copy_(self._before.storage(tensor))
        try:
            with checks._opened(watcher):
                self.run_on(on_cpu)
            yield
        finally:
            for name, tensor in self.tensors.items():
                on_cpu.storage(tensor).copy_(kept[name])

    def reach_of_errors(self, on_cpu: Copies) -> dict[str, Any]:
        """By tensor: how far each element may be from the CPU's because ops round, as fp64.

        The kernel runs again, each time with other errors in its ops, as large as the table of ops
        says; so an error counts as much as it does in the element. Errors of one or two ulps may
        cancel or be rounded away in all these runs, and not on the GPU. So there are runs with
        larger errors too, which count for as much less, but for an ulp where they reach at all.
        """
        import torch

        results = {name: on_cpu.tensor(tensor).clone() for name, tensor in self.tensors.items()}
        reach = {name: torch.zeros_like(cpu, dtype=torch.float64) for name, cpu in results.items()}
        for seed in range(_NOISE_RUNS + _LOUD_RUNS):
            is_loud = seed >= _NOISE_RUNS
            noise = _core.RoundingNoise(
                seed,
                has_atomics="tl.atomic_rmw" in self.ir,
                amplification=_AMPLIFICATION if is_loud else 1.0,
            )
            with self._run_again(on_cpu, noise):
                for name, tensor in self.tensors.items():
                    distance = _distance(results[name], on_cpu.tensor(tensor))
                    if is_loud and tensor.dtype.is_floating_point:
                        an_ulp = torch.where(distance > 0, _ulp(results[name]) / _MARGIN, 0.0)
                        distance = torch.maximum(distance / _AMPLIFICATION, an_ulp)
                    elif is_loud:
                        continue
                    reach[name] = torch.maximum(reach[name], distance)
        return {name: _MARGIN * far for name, far in reach.items()}

    def writer_of(self, address: int, on_cpu: Copies) -> str:
        """Who stores at a host address: runs once more on the CPU, in the same memory."""
        writer = _core.LastWriter(address)
        with self._run_again(on_cpu, writer):
            found = writer.found()
        if found is None:
            return "no program stores it on the CPU"
        place = f"{found['file']}:{found['line']}"
        return f"written by program {found['program']} in {place} ({found['op']})"


def differences(launch: Launch, on_cpu: Copies, on_gpu: Copies) -> list[str]:
    """What differs, in lines for people; those that begin with a blank belong to the one before."""
    import torch

    lines = []
    inexact = inexact_ops(launch.ir, fuses=launch.fuses)
    allowed: dict[str, Any] = {}
    for name, tensor in launch.tensors.items():
        cpu, gpu = on_cpu.tensor(tensor), on_gpu.tensor(tensor).cpu()
        wrong = differing(cpu, gpu, has_one_nan=not is_algebra(launch.ir))
        if inexact and wrong.any():
            allowed = allowed or launch.reach_of_errors(on_cpu)
            wrong &= ~(_distance(cpu, gpu) <= allowed[name])
        count = int(wrong.sum())
        if count == 0:
            continue
        index = tuple(torch.nonzero(wrong)[0].tolist()) if wrong.dim() else ()
        found = f"CPU {cpu[index].item()}, GPU {gpu[index].item()}"
        expected = "expected the same bits"
        if inexact:
            ops = ", ".join(f"'{op}'" for op in inexact)
            expected = f"by more than the rounding of {ops} explains"
            found += f", at most {allowed[name][index].item():.1e} apart expected"
        lines += [
            f"'{name}' differs in {count} of {wrong.numel()} elements, {expected}",
            f"  first at [{', '.join(map(str, index))}]: {found}",
            f"  {launch.writer_of(int(cpu[index].data_ptr()), on_cpu)}",
        ]
    for name, place in on_cpu.differing_outside(on_gpu, launch.tensors):
        lines.append(
            f"the storage of '{name}' differs outside of the views that the launch got, first at "
            f"byte {place}"
        )
    if lines and uses_what_atomics_return(launch.ir):
        lines.append(
            "  the kernel uses what an atomic returns; that depends on which program comes first, "
            "and so may this"
        )
    return lines


def differing(cpu: Any, gpu: Any, *, has_one_nan: bool = True) -> Any:
    """Where two tensors have other bits. With ``has_one_nan`` all NaNs are equal."""
    if not cpu.dtype.is_floating_point:
        return cpu != gpu
    if not has_one_nan:
        import torch

        size = cpu.element_size()
        rows = (side.contiguous().reshape(-1).view(torch.uint8) for side in (cpu, gpu))
        one, other = (bits.reshape(*cpu.shape, size) for bits in rows)
        return (one != other).any(dim=-1)
    wide_cpu, wide_gpu = cpu.double(), gpu.double()
    same = (wide_cpu == wide_gpu) & (wide_cpu.signbit() == wide_gpu.signbit())
    return ~(same | (wide_cpu.isnan() & wide_gpu.isnan()))


def _ulp(results: Any) -> Any:
    """One to two units in the last place of each number, as fp64."""
    import torch

    limits = torch.finfo(results.dtype)
    return results.double().abs().clamp(min=limits.smallest_normal) * limits.eps


def _distance(a: Any, b: Any) -> Any:
    """|a - b| as fp64; 0 where both are the same infinity or NaN, infinite where only one is."""
    import torch

    a, b = a.double(), b.double()
    distance = (a - b).abs()
    same = (a == b) | (a.isnan() & b.isnan())
    return torch.where(same, 0.0, torch.where(distance.isnan(), torch.inf, distance))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _synchronize() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
