"""MaybelShaw's answers to LeetGPU's tasks."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("MaybelShaw/leetgpu-challenges", "377d64512bb87bdf65bdcaa35aba2a928eb6866d")


@repository.case("easy/interleave/interleave.triton.py", "interleave_kernel", small=dict(n=1000), production=dict(n=1 << 25), rtol=0, atol=0)  # fmt: skip
def interleaved(file, device, n):
    a, b = (tm.normal(n, device=device) for _ in range(2))

    def run():
        out = torch.empty(2 * n, device=device)
        file.solve(a, b, out, n)
        return out

    return run, lambda: torch.stack([a, b], 1).view(-1)


@repository.case("medium/fp16_dot_product/fp16_dot_product.triton.py", "fp16_dot_product_kernel, convert_result_kernel", small=dict(n=3000), production=dict(n=1 << 24), rtol=1e-3, atol=1e-2)  # fmt: skip
def dot_product(file, device, n):
    a, b = (torch.rand(n).to(torch.float16).to(device) / n**0.5 for _ in range(2))

    def run():
        out = torch.empty(1, dtype=torch.float16, device=device)
        file.solve(a, b, out, n)
        return out[0]

    return run, lambda: a.double() @ b.double()


@repository.case("medium/gemm/gemm.triton.py", "gemm_tiled_kernel", small=dict(m=50, n=70, k=90), production=dict(m=2048, n=2048, k=2048), rtol=1e-2, atol=2e-2)  # fmt: skip
def product(file, device, m, n, k):
    """With small blocks, and a share of what there was before."""
    a, b, c = (
        tm.normal(*shape, device=device, dtype=torch.float16) for shape in ((m, k), (k, n), (m, n))
    )
    b /= k**0.5

    def run():
        out = c.clone()
        file.solve(a, b, out, m, n, k, 1.5, 0.5)
        return out

    return run, lambda: 1.5 * a.double() @ b.double() + 0.5 * c.double()


@repository.case("medium/rms_normalization/rms_normalization.triton.py", "sum_sq_kernel, final_sum_kernel, rms_norm_kernel", small=dict(n=5000), production=dict(n=1 << 20), rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm(file, device, n):
    """Of one long row; the sums of its parts are one block."""
    x = tm.normal(n, device=device)

    def run():
        out = torch.empty_like(x)
        file.solve(x, 1.5, 0.25, out, n, 1e-5)
        return out

    return run, lambda: tm.rms_norm(x, None, 1e-5) * 1.5 + 0.25
