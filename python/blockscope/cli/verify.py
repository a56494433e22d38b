"""``blockscope verify``: each launch of a script on the CPU and on the GPU, on the same inputs.

What the script goes on with is the result of the device where its tensors are.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from blockscope import _core, checks, knobs
from blockscope.cli.launch_copies import CannotCopy, Copies, tensors_of
from blockscope.cli.pointer_tables import tables_in, tensors_behind
from blockscope.cli.script import Script
from blockscope.cli.usage import UsageError
from blockscope.errors import TritonError
from blockscope.language.linear import default_input_precision
from blockscope.runtime import hooks

#: Operations whose results differ in the last bits between the CPU and the GPU.
_INEXACT = re.compile(
    r"\b(math\.(exp2?|log2?|sin|cos|tan|tanh|erf|rsqrt|powf|atan2?|expm1|log1p)"
    r"|tl\.extern_elementwise)\b"
)
#: Those whose sums may be in another order where floats are added.
_REORDERED = re.compile(r"\btl\.(dot|reduce|scan|atomic_rmw)\b")
_FLOATS = re.compile(r"(?:\b|(?<=x))(?:f16|bf16|f32|f64|f8E\w+)\b")
_POINTERS_FROM_MEMORY = re.compile(r"\btl\.int_to_ptr\b")

#: By bytes of an element: the share of the largest magnitude by which results may differ.
_BOUNDS = {1: 0.13, 2: 8e-3, 4: 1e-5, 8: 1e-12}
_TF32_BOUND = 2e-3


def verify_script(script: Script, options: argparse.Namespace) -> int:
    """Run the script; its status, or the chosen one when a launch differs."""
    reason = _core.gpu.why_unavailable()
    if reason is not None:
        raise UsageError(f"verify compares with a GPU, and there is none to use: {reason}")
    try:
        import torch
    except ImportError:
        raise UsageError("verify needs torch, which is not installed") from None
    if not torch.cuda.is_available():
        raise UsageError("verify needs a torch with CUDA; this torch finds no GPU")
    # Both runs multiply float32 as the GPU does when the kernel does not say.
    os.environ.setdefault("TRITON_F32_DEFAULT", default_input_precision(on_gpu=True))
    verifier = Verifier(f"cuda:{torch.cuda.current_device()}")
    with verifier.watching():
        status = script.run()
    print(verifier.summary(), file=sys.stderr)
    return options.exit_code if verifier.differences else status or int(verifier.failures > 0)


@dataclass(frozen=True)
class Bound:
    """How much two results may differ, and why."""

    share: float  # of the largest magnitude; 0: bit by bit
    reason: str

    @property
    def text(self) -> str:
        if self.share == 0:
            return "expected the same bits"
        return f"allowed {self.share:.0e} of the largest magnitude because of {self.reason}"


def bound_for(ir: str, dtype: Any, *, fuses: bool) -> Bound:
    """The bound for one written tensor of a kernel, from the operations of its block IR."""
    if not dtype.is_floating_point or not _FLOATS.search(ir):
        return Bound(0, "")
    tf32 = re.search(r"input_precision = \"?tf32", ir) is not None
    share = max(_BOUNDS[dtype.itemsize], _TF32_BOUND if tf32 else 0)
    for pattern in (_INEXACT, _REORDERED):
        found = pattern.search(ir)
        if found:
            return Bound(share, f"'{found.group()}'" + (" in tf32" if tf32 else ""))
    if fuses and "arith.mulf" in ir and re.search(r"\barith\.(addf|subf)\b", ir):
        return Bound(share, "fused multiply-adds")
    return Bound(0, "")


class Verifier:
    """Runs launches twice and compares; counts what it finds."""

    def __init__(self, device: str) -> None:
        self._device = device  # where the other run goes: a GPU, but in tests
        self.launches = self.differences = self.failures = self.skipped = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Inside, every launch is verified."""

        def verifying(
            run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any], warmup: bool
        ) -> Any:
            if warmup:
                return run(fn, *args, grid=grid, warmup=True, **kwargs)
            return self._launch(run, fn, args, grid, kwargs)

        # A hook keeps the C++ launcher from repeating launches by itself.
        def hook(_: Any) -> None:
            return None

        with hooks.intercepted(verifying), knobs.runtime.scope():
            knobs.runtime.interpret = False
            knobs.runtime.launch_enter_hook = hook
            yield

    def summary(self) -> str:
        text = f"verify: {self.launches} launches, {self.differences} with differences"
        if self.failures:
            text += f", {self.failures} that did not run on the GPU"
        if self.skipped:
            text += f", {self.skipped} not verified"
        return text

    # -- one launch -------------------------------------------------------------------------------

    def _launch(self, run: Any, fn: Any, args: Any, grid: Any, kwargs: dict[str, Any]) -> Any:
        number, self.launches = self.launches, self.launches + 1
        heading = f"launch {number} of '{fn.__name__}'"
        try:
            launch = Launch(run, fn, args, grid, kwargs)
        except CannotCopy as reason:
            self.skipped += 1
            _say(f"{heading}: not verified: {reason}")
            return run(fn, *args, grid=grid, **kwargs)
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
        self.ir: str = run(fn, *args, grid=grid, warmup=True, **for_cpu).asm["tl"]
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
            return self._run(self._fn, *args, grid=self._grid, **kwargs)

    def writer_of(self, address: int, on_cpu: Copies) -> str:
        """Who stores at a host address: runs once more on the CPU, in the same memory."""
        kept = {name: on_cpu.storage(tensor).clone() for name, tensor in self.tensors.items()}
        for tensor in self.tensors.values():
            on_cpu.storage(tensor).copy_(self._before.storage(tensor))
        writer = _core.LastWriter(address)
        with checks._opened(writer):
            self.run_on(on_cpu)
        for name, tensor in self.tensors.items():
            on_cpu.storage(tensor).copy_(kept[name])
        found = writer.found()
        if found is None:
            return "no program stores it on the CPU"
        place = f"{found['file']}:{found['line']}"
        return f"written by program {found['program']} in {place} ({found['op']})"


def differences(launch: Launch, on_cpu: Copies, on_gpu: Copies) -> list[str]:
    """What differs, in lines for people; those that begin with a blank belong to the one before."""
    import torch

    lines = []
    for name, tensor in launch.tensors.items():
        cpu, gpu = on_cpu.tensor(tensor), on_gpu.tensor(tensor).cpu()
        bound = bound_for(launch.ir, tensor.dtype, fuses=launch.fuses)
        wrong = differing(cpu, gpu, bound)
        count = int(wrong.sum())
        if count == 0:
            continue
        index = tuple(torch.nonzero(wrong)[0].tolist()) if wrong.dim() else ()
        lines += [
            f"'{name}' differs in {count} of {wrong.numel()} elements, {bound.text}",
            f"  first at [{', '.join(map(str, index))}]: CPU {cpu[index].item()}, "
            f"GPU {gpu[index].item()}",
            f"  {launch.writer_of(int(cpu[index].data_ptr()), on_cpu)}",
        ]
    for name, place in on_cpu.differing_outside(on_gpu, launch.tensors):
        lines.append(
            f"the storage of '{name}' differs outside of the views that the launch got, first at "
            f"byte {place}"
        )
    return lines


def differing(cpu: Any, gpu: Any, bound: Bound) -> Any:
    """Where two tensors differ by more than the bound. NaN equals NaN."""
    if not cpu.dtype.is_floating_point:
        return cpu != gpu
    wide_cpu, wide_gpu = cpu.double(), gpu.double()
    both_nan = wide_cpu.isnan() & wide_gpu.isnan()
    if bound.share == 0:
        same = (wide_cpu == wide_gpu) & (wide_cpu.signbit() == wide_gpu.signbit())
        return ~(same | both_nan)
    finite = wide_cpu[wide_cpu.isfinite()]
    allowed = bound.share * (finite.abs().max().item() if finite.numel() else 0.0)
    near = (wide_cpu - wide_gpu).abs() <= allowed
    return ~(near | (wide_cpu == wide_gpu) | both_nan)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _synchronize() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
