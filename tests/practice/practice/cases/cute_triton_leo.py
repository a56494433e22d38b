"""LeoYangXY's kernels from learning CUDA and Triton: sums of rows, products, and attention."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("LeoYangXY/learn-cuda-cute-triton", "71ab0b2868669c0a78a9a35ea692726ce0151f6d")  # fmt: skip
HALF = torch.float16


@repository.case("triton/reduce.py", "reduce_sum_multi_blocks, reduce_sum_partial, reduce_sum_final", small=dict(m=20, n=5000), production=dict(m=2048, n=16384), rtol=1e-4, atol=1e-3)  # fmt: skip
def sums_of_rows(file, device, m, n):
    """Of parts of rows, with atomics, and in two steps."""
    x = tm.normal(m, n, device=device)

    def run():
        return file.triton_reduce_sum_atomic(x), file.triton_reduce_sum_two_stage(x)

    return run, lambda: (x.double().sum(1),) * 2


@repository.case("triton/gemm.py", "matmul_kernel_baseline, matmul_kernel_grouped", small=dict(m=150, n=90, k=100), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def products(file, device, m, n, k):
    """By rows of blocks, and by groups of them."""
    a = tm.normal(m, k, device=device, dtype=HALF)
    b = tm.normal(k, n, device=device, dtype=HALF, scale=k**-0.5)

    def run():
        return file.matmul_baseline(a, b), file.matmul_grouped(a, b)

    return run, lambda: (a.double() @ b.double(),) * 2


@repository.case("triton/flash_attention/flash_attention_v2.py", "_flash_attn_fwd_kernel", small=dict(b=1, h=2, n=256, d=64), production=dict(b=4, h=16, n=4096, d=64), rtol=1e-2, atol=1e-3)  # fmt: skip
def attention(file, device, b, h, n, d):
    """What there is so far is divided by its sum at every step."""
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=HALF) for _ in range(3))

    def want():
        heads = zip(*(x.flatten(0, 1).split(4) for x in (q, k, v)), strict=True)
        return torch.cat([tm.attention(*x)[0] for x in heads]).view_as(q)

    return lambda: file.flash_attention(q, k, v, d**-0.5), want
