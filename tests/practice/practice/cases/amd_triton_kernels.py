"""AMD-Triton-Kernels: an fp8 product with scales for blocks, and parts of a layer of experts."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("scar-ai/AMD-Triton-Kernels", "2bcbfcc198854fe95877645e0bbe7d2348516cd1", stand_ins={"task": {}, "aiter.ops.aiter_operator": {}})  # fmt: skip


@repository.case("amd-fp8-gemm.py", "kernel", small=dict(m=256, n=192, k=256), production=dict(m=4096, n=4608, k=7168), rtol=1e-2, atol=2e-2)  # fmt: skip
def product_fp8(file, device, m, n, k):
    """Both are stored by columns. Blocks of up to 256 columns take one scale: two have the same."""
    a, b = (tm.fp8(k, rows, device=device).T for rows in (m, n))
    a_scales = (torch.rand(k // 128, m) + 0.5).to(device).T
    b_scales = (torch.rand(k // 128, -(-n // 256)) + 0.5) / k**0.5
    b_scales = b_scales.repeat_interleave(2, 1)[:, : -(-n // 128)].contiguous().to(device).T

    def run():
        out = torch.empty(m, n, dtype=torch.bfloat16, device=device)
        return file.custom_kernel((a, b, a_scales, b_scales, out))

    def want():
        return tm.dequantised_blocks(a, a_scales, 1, 128) @ tm.dequantised_blocks(b, b_scales, 128, 128).T  # fmt: skip

    return run, want


@repository.case("amd-moe.py", "matmul_kernel, silu_kernel", small=dict(m=40, d=72, h=96), production=dict(m=4096, d=4096, h=2048), rtol=1e-2, atol=1e-2)  # fmt: skip
def expert(file, device, m, d, h):
    x, left, right, down = (tm.normal(*s, device=device, dtype=torch.float16, scale=s[1 if i == 0 else 0] ** -0.5 if i else 1) for i, s in enumerate(((m, d), (d, h), (d, h), (h, d))))  # fmt: skip

    def want():
        y = F.silu(x.double() @ left.double()) * (x.double() @ right.double())
        return y @ down.double()

    return lambda: file.expert_ffn_with_all_triton(x, left, right, down), want


@repository.case("amd-moe.py", "softmax_fwd_kernel_last_dim, logsumexp_fwd_kernel_last_dim, mean_last_dim_kernel", small=dict(m=6, n=2048), production=dict(m=8192, n=32768))  # fmt: skip
def rows(file, device, m, n):
    """Columns behind the end count as zeros in the sums: there are none."""
    x = tm.normal(m, n, device=device, scale=3.0)

    def want():
        y = x.double()
        return y.softmax(-1), y.logsumexp(-1), y.mean(-1)

    return (
        lambda: [
            f(x) for f in (file.triton_softmax, file.triton_logsumexp, file.triton_mean_last_dim)
        ],  # fmt: skip
        want,
    )


@repository.case("amd-moe.py", "gather_rows_kernel, scatter_add_rows_kernel, zeros_kernel, transpose_kernel", small=dict(t=20, n=50, d=72), production=dict(t=8192, n=32768, d=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def rows_there_and_back(file, device, t, n, d):
    x, ids = tm.normal(t, d, device=device), tm.integers(0, t, n, device=device)

    def run():
        chosen = file.triton_gather_rows(x, ids)
        out = file.triton_zeros_like(x)
        file.triton_scatter_add_rows(out, ids, chosen)
        return file.triton_transpose(out)

    def want():
        return (x.double() * torch.bincount(ids, minlength=t)[:, None]).T

    return run, want
