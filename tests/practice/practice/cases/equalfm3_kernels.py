"""equalfm3's kernels: attention, normalisation that merges variances, and a product."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("equalfm3/cuda-triton-kernels", "efaa7f89cd98edb4526648b9d52872726b2c0294")


def _heads(*tensors):
    """A few heads at a time, to save memory."""
    return zip(*(x.flatten(0, 1).split(4) for x in tensors), strict=True)


@repository.case("triton_kernels/flash_attention.py", "_flash_attention_kernel", small=dict(b=2, h=2, n=100, d=32), production=dict(b=4, h=16, n=4096, d=64), rtol=1e-2, atol=1e-3)  # fmt: skip
def attention(file, device, b, h, n, d):
    """Its wrapper uses torch alone; the blocks are those that it would take."""
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(3))

    def run():
        out = torch.empty_like(q)
        strides = [s for x in (q, k, v, out) for s in x.stride()]
        file._flash_attention_kernel[(-(-n // 32), b * h)](q, k, v, out, *strides, N=n, D=d, scale=d**-0.5, BLOCK_Q=32, BLOCK_KV=32)  # fmt: skip
        return out

    return run, lambda: torch.cat([tm.attention(*x)[0] for x in _heads(q, k, v)]).view_as(q)


@repository.case("triton_kernels/layernorm.py", "_layernorm_kernel", small=dict(m=20, n=1500), production=dict(m=8192, n=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def layer_norm(file, device, m, n):
    x, gamma, beta = tm.normal(m, n, device=device), tm.normal(n, device=device), tm.normal(n, device=device)  # fmt: skip
    return (
        lambda: file.fused_layernorm(x, gamma, beta),
        lambda: tm.layer_norm(x, gamma, beta, 1e-5),
    )


@repository.case("triton_kernels/matmul.py", "_matmul_kernel", small=dict(m=70, n=90, k=100), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def product(file, device, m, n, k):
    a = tm.normal(m, k, device=device, dtype=torch.float16)
    b = tm.normal(k, n, device=device, dtype=torch.float16, scale=k**-0.5)
    return lambda: file.triton_matmul(a, b), lambda: a.double() @ b.double()
