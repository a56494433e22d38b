"""Triton-GroupGEMM: products of different sizes, whose tiles go round a fixed set of programs."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("syang-genai/Triton-GroupGEMM", "66a2daa6c374b19f1c19e4a58ff28ed64427821d")


@repository.case("main_optim.py", "grouped_matmul_kernel", small=dict(m=80, n=128, k=256, count=4), production=dict(m=1100, n=4096, k=2048, count=9), rtol=1e-2, atol=1e-2)  # fmt: skip
def products(file, device, m, n, k, count):
    left = [tm.normal(m - 13 * i, k, device=device, dtype=torch.float16) for i in range(count)]
    right = [tm.normal(k, n, device=device, dtype=torch.float16, scale=k**-0.5) for _ in left]
    kernel = file.grouped_matmul_kernel
    kernel.configs = kernel.configs[-1:]  # with pointers in memory no check can run them all
    kernel.configs[0].kwargs["NUM_SM"] = 132  # the file asks for it only where Triton has a GPU
    return (
        lambda: file.group_gemm_fn(left, right),
        lambda: [a.double() @ b.double() for a, b in zip(left, right, strict=True)],
    )
