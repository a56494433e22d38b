"""Akshat Tripathi's kernels: batched products, RMSNorm in two steps, and RoPE."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Akshat-Tripathi/triton_kernels", "ad5d9a5834d9f341e9e6df1cba3d866d366fcfe2")  # fmt: skip
FOLDER = "src/triton_kernels/"
HALF = torch.float16


@repository.case(FOLDER + "gemm/bmm.py", "bmm_kernel", small=dict(b=2, m=70, n=90, k=96), production=dict(b=16, m=2048, n=2048, k=1024), rtol=1e-2, atol=1e-2)  # fmt: skip
def batched_product(file, device, b, m, n, k):
    x = tm.normal(b, m, k, device=device, dtype=HALF)
    y = tm.normal(b, k, n, device=device, dtype=HALF, scale=k**-0.5)

    def run():
        return file.bmm(x, y, x.new_zeros(b, m, n), b, m, n, k)

    return run, lambda: x.double() @ y.double()


@repository.case(FOLDER + "norms/rms_norm.py", "ms_reduction_kernel, rms_norm_kernel", small=dict(b=6, n=700), production=dict(b=8192, n=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def rms_norm(file, device, b, n):
    """Parts of rows add up their squares with atomics; the weight is one number."""
    x = tm.normal(b, n, device=device)

    def run():
        return file.rmsnorm(x, torch.zeros_like(x), 4.2, 3.42, 1e-5, b, n)

    return run, lambda: tm.rms_norm(x, None, 1e-5) * 4.2 + 3.42


def _rope(kernel, device, b, s, h, d):
    """Of the 2160 configurations that are tried one is left."""
    wanted = dict(BLOCK_S=4, BLOCK_H=16, BLOCK_D=128, NUM_D_STAGES=1, NUM_H_STAGES=2)
    kernel.configs = [
        c for c in kernel.configs if wanted.items() <= c.kwargs.items() and c.num_warps == 4
    ]
    x, cos, sin = (tm.normal(*shape, device=device) for shape in ((b, s, h, d), (s, d), (s, d)))

    def want():
        return tm.rotated(x, cos[:, None, ::2], sin[:, None, 1::2], interleaved=True)

    return x, cos, sin, want


@repository.case(FOLDER + "rope/rope.py", "rope_forward_kernel", small=dict(b=2, s=10, h=4, d=64), production=dict(b=4, s=4096, h=16, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def rope(file, device, b, s, h, d):
    """The cosines are those of the even elements, the sines those of the odd ones."""
    x, cos, sin, want = _rope(file.rope_forward_kernel, device, b, s, h, d)
    return lambda: file.rope_forward(x, cos, sin), want


@repository.case(FOLDER + "rope/rope.py", "rope_forward_inplace_kernel", small=dict(b=2, s=10, h=4, d=64), production=dict(b=4, s=4096, h=16, d=128), rtol=1e-4, atol=1e-4)  # fmt: skip
def rope_in_place(file, device, b, s, h, d):
    x, cos, sin, want = _rope(file.rope_forward_inplace_kernel, device, b, s, h, d)
    return lambda: file.rope_forward_inplace(x.clone(), cos, sin), want
