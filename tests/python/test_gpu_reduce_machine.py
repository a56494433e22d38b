"""Reductions whose lanes combine what they have with what others have, in the other order: all
threads have one result. Run by ptx_machine.py.
"""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import numpy as np
import ptx_machine
import pytest

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)


@triton.jit
def larger(a: Any, b: Any) -> Any:
    return tl.where(a > b, a, b)


@triton.jit
def reduce_kernel(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    result = tl.reduce(tl.load(x_ptr + offsets), 0, larger)
    tl.store(out_ptr + offsets, tl.where(offsets < N, result, 0.0))


@pytest.mark.parametrize("warps", [1, 4, 32])
@pytest.mark.parametrize("value", [0.0, np.nan])
def test_all_threads_have_one_result(
    value: float, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros of both signs are equal; with NaN a comparison is in no order."""
    monkeypatch.setenv("BLOCKSCOPE_CACHE", "0")
    x = np.full(1024, -0.0, np.float32)
    x[::3] = value
    out = np.full_like(x, 7)
    kernel = reduce_kernel.warmup(x, out, 1024, grid=(1,), arch="sm_90a", num_warps=warps)
    ptx_machine.run(kernel, [x, out])
    assert len(np.unique(out.view(np.uint32))) == 1
    assert out[0] == 0 or np.isnan(out[0])
