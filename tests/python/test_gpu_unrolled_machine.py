"""Loops that a kernel unrolls whole, without a GPU: their loads stay wide however long the code
gets. Results by ptx_machine.py.
"""

from __future__ import annotations

from typing import Any

import blockscope as triton
import blockscope.language as tl
import gpu_rows
import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.skipif(
    not gpu_rows.has_tools(), reason="ptxas and libdevice are not installed (nvidia-cuda-nvcc)"
)
PAGES, ROWS, WIDTH = 20, 16, 128


@triton.jit
def scores_of_pages(
    q_ptr, k_ptr, v_ptr, table_ptr, out_ptr, scale,
    PAGES: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Attention of one query, one page after the other, as swiftLLM has it."""
    rows, columns = tl.arange(0, ROWS), tl.arange(0, WIDTH)
    q = tl.load(q_ptr + columns)
    at = rows[:, None] * WIDTH + columns[None, :]
    total = tl.zeros([WIDTH], tl.float32)
    largest = -1e20
    weight = 0.0
    for page in tl.static_range(PAGES):
        start = tl.load(table_ptr + page).to(tl.int64) * (ROWS * WIDTH)
        k = tl.load(k_ptr + at + start)
        score = tl.sum(q[None, :] * k, axis=1) * scale
        v = tl.load(v_ptr + at + start)
        new = tl.maximum(largest, tl.max(score, axis=0))
        part = tl.exp2(score - new)
        shrunk = tl.exp2(largest - new)
        total = total * shrunk + tl.sum(part[:, None] * v, axis=0)
        weight = weight * shrunk + tl.sum(part, axis=0)
        largest = new
    tl.store(out_ptr + columns, total / weight)


@pytest.mark.parametrize("arch", ["sm_90a"])
def test_the_loads_of_an_unrolled_loop_stay_wide(arch: str, kernels: Any) -> None:
    q, k, v = (
        torch.randn(shape).half()
        for shape in [(WIDTH,), (PAGES, ROWS, WIDTH), (PAGES, ROWS, WIDTH)]
    )
    table = torch.randperm(PAGES).int()
    out = torch.empty(WIDTH)
    scores_of_pages[(1,)](q, k, v, table, out, 0.1, PAGES, ROWS, WIDTH, num_warps=1)
    scores = (k.double() @ q.double()).flatten() * 0.1
    weights = torch.softmax(scores * torch.log(torch.tensor(2.0)), 0)
    torch.testing.assert_close(
        out.double(), weights @ v.double().flatten(0, 1), rtol=1e-2, atol=1e-2
    )
    ptx = kernels[0].asm["ptx"]
    assert ".v4.b32" in ptx and "ld.global.b16" not in ptx
