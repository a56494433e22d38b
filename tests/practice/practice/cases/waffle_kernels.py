"""triton-kernel-lab of WaffleBits: steps of decoding, each with its own kernel."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("WaffleBits/triton-kernel-lab", "47baddaada12e62b48023ef4c38e3dfac4c8f33e")
LAB = "src/triton_kernel_lab/"


@repository.case(LAB + "int4_gemv.py", "_int4_gemv_kernel", small=dict(n=13, k=200), production=dict(n=28672, k=8192), rtol=1e-4, atol=1e-4)  # fmt: skip
def int4_gemv(file, device, n, k):
    weights = tm.integers(-8, 8, n, k, device=device, dtype=torch.int8)
    x, scales = tm.normal(k, device=device, dtype=torch.float16), torch.rand(n).to(device)
    packed = file.pack_int4(weights)
    return (
        lambda: file.int4_gemv_triton(x, packed, scales),
        lambda: (weights.double() @ x.double()) * scales.double(),
    )


@repository.case(LAB + "paged_gather.py", "_paged_gather_kernel", small=dict(rows=50, m=21, d=100), production=dict(rows=1 << 17, m=1 << 16, d=1024))  # fmt: skip
def gather(file, device, rows, m, d):
    source = tm.normal(rows, d, device=device, dtype=torch.bfloat16)
    indices = tm.integers(0, rows, m, device=device, dtype=torch.int32)
    return lambda: file.paged_gather_triton(source, indices), lambda: source[indices.long()]


@repository.case(LAB + "selective_attention.py", "_selective_attention_kernel", small=dict(rows=40, m=10, d=48), production=dict(rows=1 << 16, m=256, d=256), rtol=1e-3, atol=1e-3)  # fmt: skip
def selective_attention(file, device, rows, m, d):
    q = tm.normal(d, device=device, dtype=torch.float16)
    k, v = (tm.normal(rows, d, device=device, dtype=torch.float16) for _ in range(2))
    chosen = torch.randperm(rows)[:m].to(torch.int32).to(device)
    return (
        lambda: file.selective_attention_triton(q, k, v, chosen),
        lambda: tm.attention(q[None, None], k[chosen.long()][None], v[chosen.long()][None])[0][
            0, 0
        ],
    )
