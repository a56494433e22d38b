"""Azimml's kernels: weights in 8 and 4 bits, and the parts of a mixture of experts."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Azimml/triton-kernels", "ccfa59df6fec20db239f17283057baa61b6c21de", packages={"triton_kernels": "."})  # fmt: skip
FOLDER = "triton_kernels/"
HALF = torch.float16


@repository.case(FOLDER + "moe/expert_gemm.py", "_grouped_gemm_kernel", small=dict(experts=4, most=90, n=72, k=96), production=dict(experts=16, most=512, n=4096, k=2048), rtol=1e-2, atol=1e-2)  # fmt: skip
def products_of_experts(file, device, experts, most, n, k):
    lengths = tm.lengths(experts, most)
    offsets = tm.starts(lengths, device)
    x = tm.normal(sum(lengths), k, device=device, dtype=HALF)
    weights = tm.normal(experts, n, k, device=device, dtype=HALF, scale=k**-0.5)

    def want():
        parts = x.double().split(lengths)
        return torch.cat([part @ w.double().T for part, w in zip(parts, weights, strict=True)])

    return lambda: file.grouped_gemm(x, weights, offsets, experts), want


@repository.case(FOLDER + "moe/permute.py", "_permute_kernel, _unpermute_kernel", small=dict(t=20, experts=5, k=2, d=150), production=dict(t=16384, experts=64, k=4, d=2048), rtol=1e-2, atol=1e-2)  # fmt: skip
def there_and_back(file, device, t, experts, k, d):
    """Rows are sorted by their expert, and come back as a sum with weights."""
    x = tm.normal(t, d, device=device, dtype=HALF)
    weights, ids = tm.topk_ids(t, experts, k, device)

    def run():
        rows, _, _, back = file.permute_tokens(x, ids, experts)
        return file.unpermute_tokens(rows, weights, back, t, k)

    return run, lambda: x.double() * weights.double().sum(1, keepdim=True)


@repository.case(FOLDER + "moe/router.py", "_sigmoid_topk_kernel", small=dict(t=30, d=48, experts=12, k=3), production=dict(t=65536, d=256, experts=128, k=8), rtol=1e-3, atol=1e-3)  # fmt: skip
def router(file, device, t, d, experts, k):
    x, weight = tm.normal(t, d, device=device), tm.normal(experts, d, device=device, scale=d**-0.5)

    def want():
        chosen = (x.double() @ weight.double().T).sigmoid().topk(k).values
        return chosen / (chosen.sum(1, keepdim=True) + 1e-6)

    return lambda: file.moe_router(x, weight, k, gating="sigmoid")[1], want


@repository.case(FOLDER + "quantized_matmul.py", "_int8_gemm_kernel", small=dict(m=40, n=72, k=100), production=dict(m=4096, n=4096, k=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def product_int8(file, device, m, n, k):
    x = tm.normal(m, k, device=device, dtype=HALF)
    weight = tm.integers(-127, 128, n, k, device=device, dtype=torch.int8)
    scale = ((torch.rand(n) + 0.5) / 64 / k**0.5).to(device)
    return (
        lambda: file.int8_gemm(x, weight, scale),
        lambda: x.double() @ (weight.double() * scale.double()[:, None]).T,
    )


@repository.case(FOLDER + "w4a16.py", "_w4a16_gemm_kernel, _w4a16_gemm_splitk_kernel", small=dict(m=20, n=72, k=256), production=dict(m=2048, n=4096, k=4096), rtol=1e-2, atol=2e-2)  # fmt: skip
def product_int4(file, device, m, n, k):
    """Few rows are multiplied in parts, which atomics add up."""
    x = tm.normal(m, k, device=device, dtype=HALF)
    weight = tm.integers(0, 16, k, n, device=device)
    scales = ((torch.rand(k // 128, n) + 0.5) / 4 / k**0.5).to(HALF).to(device)
    zeros = tm.integers(4, 12, k // 128, n, device=device).to(HALF)
    packed = tm.packed_int4(weight, axis=0)

    def want():
        s, z = (v.double().repeat_interleave(128, 0) for v in (scales, zeros))
        y = x.double() @ ((weight.double() - z) * s)
        return y, y[:6]

    return lambda: [file.w4a16_gemm(rows, packed, scales, zeros) for rows in (x, x[:6])], want
