"""Kernels compiled for a GPU: run by the PTX machine of tests/python, or by a GPU.

Products and sums are not fused, so that kernels of level 0 leave NumPy's bits; of the other levels
``blockscope verify`` says how far a GPU's results may be from the CPU's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import blockscope
import numpy as np

from random_kernels import modes
from random_kernels.tree import Kernel

ARCHS = ("sm_80", "sm_90a", "sm_120a")


def _options(kernel: Kernel) -> dict[str, Any]:
    return {**kernel.options, "enable_fp_fusion": False}


def machine(arch: str) -> Callable[..., modes.Memory]:
    """Runs the PTX for ``arch`` on the CPU."""
    sys.path.append(str(Path(__file__).parents[2] / "python"))
    import gpu_rows
    import ptx_matrix_machine

    def run(kernel: Kernel, function: Any) -> modes.Memory:
        left = modes.memory(kernel)
        compiled = function.warmup(
            *left.values(), *modes.scalars(kernel), grid=kernel.grid, arch=arch, **_options(kernel)
        )
        if compiled.warnings:
            raise AssertionError(compiled.warnings)
        arguments = [*left.values(), *kernel.scalars.values()]
        compiled = gpu_rows.for_numbers(compiled, arguments)
        ptx_matrix_machine.run(compiled, arguments, kernel.grid)
        return left

    return run


def algebra_problem(arch: str | None) -> Callable[[Kernel], modes.Problem | None]:
    """Finds where modes, or the compiled kernel, have other bits in the algebra, where floats of
    every kernel are exact (docs/algebra.md). The kernel for ``arch`` is run by the PTX machine, for
    None by a GPU, which is held against one mode only."""
    names = ("one thread", "two threads", "steps")[: 3 if arch else 1]
    runs = {name: modes.CPU_MODES[name] for name in names}
    if arch:
        runs[arch] = machine(arch)
    else:
        runs["GPU"] = on_gpu

    def problem(kernel: Kernel) -> modes.Problem | None:
        if ", combine_mixed" in kernel.source():  # its comparison is not that of its maximum there
            return None
        with blockscope.algebra():
            function = modes.loaded(kernel)
            expected: modes.Memory | None = None
            for mode, run in runs.items():
                found = modes.attempt(run, kernel, function)
                if isinstance(found, str):
                    return modes.Problem(mode, found)
                expected = expected or found
                if text := modes.bit_difference(expected, found, "one thread"):
                    return modes.Problem(mode, text)
        return None

    return problem


def as_torch(array: Any, device: str) -> Any:
    """A copy on a device; a dtype that NumPy lacks goes by its bytes."""
    import torch

    kinds = {
        "bfloat16": torch.bfloat16, "float8_e5m2": torch.float8_e5m2,
        "float8_e4m3fn": torch.float8_e4m3fn,
    }  # fmt: skip
    if kind := kinds.get(array.dtype.name):
        return torch.from_numpy(array.view(np.uint8).copy()).view(kind).to(device)
    return torch.from_numpy(array.copy()).to(device)


def as_numpy(tensor: Any, dtype: Any) -> Any:
    import torch

    return tensor.cpu().contiguous().view(torch.uint8).numpy().view(dtype)


def on_gpu(kernel: Kernel, function: Any) -> modes.Memory:
    import torch

    left = modes.memory(kernel)
    tensors = [as_torch(array, "cuda") for array in left.values()]
    function[kernel.grid](*tensors, *modes.scalars(kernel), **_options(kernel))
    torch.cuda.synchronize()
    return {
        name: as_numpy(tensor, array.dtype)
        for (name, array), tensor in zip(left.items(), tensors, strict=True)
    }


def verified(kernel: Kernel, function: Any) -> None:
    """Raises where the GPU's results are further from the CPU's than the operations explain."""
    from blockscope.cli import verify

    lines: list[str] = []
    tensors = [as_torch(array, "cpu") for array in modes.memory(kernel).values()]
    verifier = verify.Verifier("cuda:0")
    verify._say, said = lines.append, verify._say
    try:
        with verifier.watching():
            function[kernel.grid](*tensors, *modes.scalars(kernel), **_options(kernel))
    finally:
        verify._say = said
    if verifier.differences or verifier.failures:
        raise AssertionError("\n".join(lines))


def gpu_problem(kernel: Kernel) -> modes.Problem | None:
    """What a GPU does otherwise than NumPy, or than the CPU where NumPy does not know."""
    if kernel.level == 0:
        return modes.problem(kernel, {"GPU": on_gpu})
    found = modes.attempt(verified, kernel, modes.loaded(kernel))
    return modes.Problem("GPU", found) if isinstance(found, str) else None


def is_lost() -> bool:
    """Whether a kernel has broken this process's GPU: nothing runs on it any more."""
    import torch

    try:
        torch.cuda.synchronize()
        return float(torch.ones(1, device="cuda").cpu()) != 1
    except RuntimeError:
        return True
