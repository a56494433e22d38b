"""triton-tutorials of GPU MODE: rows in groups of 128 times the matrix of each group's expert, by
as many programs as there are multiprocessors, and a plain product."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("gpu-mode/triton-tutorials", "dc1532fc128377fc108146e78b4b49439d4bef45")
BF16 = torch.bfloat16


@repository.case("lesson_5/triton_contiguous_group_gemm/grouped_gemm.py", "_kernel_grouped_gemm_persistent_bf16, _compute_pid", small=dict(groups=3, experts=2, n=100, k=90), production=dict(groups=128, experts=16, n=2048, k=2048), rtol=2e-2, atol=2e-2)  # fmt: skip
def grouped(file, device, groups, experts, n, k):
    x = tm.normal(128 * groups, k, device=device, dtype=BF16)
    weights = tm.normal(experts, n, k, device=device, dtype=BF16, scale=k**-0.5)
    ids = tm.integers(0, experts, groups, device=device, dtype=torch.int32).repeat_interleave(128)
    return (
        lambda: file.grouped_gemm_persistent(x, weights, ids),
        lambda: tm.moe(x, weights, ids.long()[:, None])[:, 0],
    )


@repository.case("kernels/matmul_outer_k.py", "outerk_matmul_kernel", small=dict(m=90, n=70, k=100), production=dict(m=4096, n=4096, k=2048), rtol=1e-2, atol=1e-2)  # fmt: skip
def product(file, device, m, n, k):
    """The second matrix is transposed."""
    a = tm.normal(m, k, device=device, dtype=BF16)
    b = tm.normal(n, k, device=device, dtype=BF16, scale=k**-0.5).T
    return lambda: file.triton_outer_k_matmul(a, b), lambda: a.double() @ b.double()
