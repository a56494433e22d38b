"""Rows of op_cases compiled for a GPU, many at a time: what the tests of the GPU back end share."""

from __future__ import annotations

import functools
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import blockscope.language as tl
import numpy as np
from blockscope.errors import CompilationError
from blockscope.runtime.backends.cuda import tools as gpu_tools
from blockscope.runtime.jit import MockTensor
from op_cases import NOT_YET, OpCase, dtype_of
from op_cases.kernels import KERNELS

_OP = re.compile(r"(?<![!#])\b(?:arith|math|scf|tl|ub)\.[a-z_0-9]+")


def operands(case: OpCase, dtype: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The row's inputs, and results to be filled: zeros of the right dtypes and shapes."""
    random = np.random.default_rng(zlib.crc32(f"{case.name} {dtype}".encode()))
    inputs = [block.make(dtype, random) for block in case.inputs]
    expected = case.reference(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    return inputs, [np.zeros_like(np.asarray(result)) for result in expected]


def constants(case: OpCase, inputs: list[np.ndarray]) -> dict[str, Any]:
    return {"CALL": case.call, "SHAPES": tuple(array.shape for array in inputs)}


def as_launched(kernel: Any, values: list[Any]) -> Any:
    """The kernel that a launch on these run-time arguments runs: it, or the careful one."""
    return kernel.fitting(_bits(values), values)


def for_numbers(kernel: Any, values: Sequence[Any]) -> Any:
    """The same for arguments that share no memory."""
    return kernel.careful() if kernel.has_small_sizes(_bits(values)) else kernel


def _bits(values: Sequence[Any]) -> list[int]:
    numbers = [int(value) if isinstance(value, int | np.integer) else 0 for value in values]
    return [number & (1 << 64) - 1 for number in numbers]


def warm_up(case: OpCase, dtype: str, **options: Any) -> Any:
    """Compile a row for ``options["arch"]``; returns the kernel."""
    inputs, results = operands(case, dtype)
    names = [dtype_of(array) for array in (*inputs, *results)]
    names += ["int32"] * (len(inputs) + 2 - len(names))
    tensors = [MockTensor(tl.dtype(name)) for name in names]
    return KERNELS[len(inputs)].warmup(
        *tensors, **constants(case, inputs), grid=(1,), **options
    )  # fmt: skip


@functools.cache
def ops_of(text: str) -> frozenset[str]:
    """The names of the operations in the text of a block IR."""
    return frozenset(_OP.findall(text))


def run_time_ops(case: OpCase, dtype: str) -> frozenset[str]:
    """The operations that a row becomes, those aside that only end regions."""
    text = warm_up(case, dtype, arch="cpu").asm["tl"]
    return ops_of(text) - {"tl.yield", "scf.yield", "scf.condition"}


def missing_ops(case: OpCase, dtype: str) -> list[str]:
    """The operations of a row that the list of gaps names."""
    return sorted(run_time_ops(case, dtype) & set(NOT_YET))


def hold_to_gaps(missing: list[str], error: BaseException | None) -> str | None:
    """Hold an outcome to the list of gaps: returns why the row is a known gap, or None.

    A row with an operation of the list must fail, and say which: else the list is out of date.
    """
    if not missing:
        if error is not None:
            raise error
        return None
    names = " or ".join(missing)
    assert error is not None, f"compiles now: remove {names} from NOT_YET of op_cases"
    assert isinstance(error, CompilationError), error
    assert any(f"'{name}'" in str(error) for name in missing), f"names none of {names}: {error}"
    return str(error).splitlines()[-1]


@contextmanager
def pool(
    function: Callable[..., Any], keys: Iterable[tuple[Any, ...]]
) -> Iterator[dict[tuple[Any, ...], Future[Any]]]:
    """Call ``function(*key)`` for each key on threads, in order: the assembler is a process."""
    with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as threads:
        futures = {key: threads.submit(function, *key) for key in dict.fromkeys(keys)}
        try:
            yield futures
        finally:
            for future in futures.values():
                future.cancel()


def has_tools() -> bool:
    """Whether what assembles PTX is installed."""
    return bool(gpu_tools.ptxas() and gpu_tools.libdevice())
