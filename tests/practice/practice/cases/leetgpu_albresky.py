"""Albresky's answer to LeetGPU's attention: a product, softmax, and another product."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Albresky/leetgpu", "65c69cc6247606041a0564efa694071d7eeb5227", stand_ins={"softmax_attention": {}})  # fmt: skip


@repository.case("Triton/11-attention/attention.py", "matmal_qk_kernel, softmax_kernel, matmal_pv_kernel", small=dict(m=50, n=100, d=64), production=dict(m=4096, n=4096, d=128), rtol=1e-2, atol=2e-3)  # fmt: skip
def attention(file, device, m, n, d):
    """In tf32, with blocks of 16 rows and columns."""
    q, k, v = (tm.normal(rows, d, device=device) for rows in (m, n, n))
    return (
        lambda: file.softmax_attention(q, k, v),
        lambda: tm.attention(q[None], k[None], v[None])[0][0],
    )
