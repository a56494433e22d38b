"""An engine that chooses its precision by entropy: products in int8, fp8 and fp16, and softmax."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("IqtedarU/triton-kernels-optimization", "c1bccd90a08e2274d5100a59bcb66d922949d221")  # fmt: skip
FILE = "entropy-engine (1)/entropy-engine/python/kernels.py"
HALF = torch.float16
SMALL, PRODUCTION = dict(m=256, n=256, k=256), dict(m=4096, n=4096, k=4096)


def _inputs(device, m, n, k, most=127):
    x = tm.normal(m, k, device=device, dtype=HALF)
    weight = tm.integers(-most, most + 1, k, n, device=device, dtype=torch.int8)
    return x, weight, ((torch.rand(n) + 0.5) / most / k**0.5).to(HALF).to(device)


@repository.case(FILE, "gemm_int8_kernel", small=SMALL, production=PRODUCTION, rtol=1e-2, atol=1e-2)  # fmt: skip
def product_int8(file, device, m, n, k):
    x, weight, scale = _inputs(device, m, n, k)

    def want():
        x_scale = (x.abs().amax(1) / 127).clamp(min=1e-8).float()
        quantised = (x / x_scale[:, None]).to(torch.int8).double()
        return quantised @ weight.double() * x_scale.double()[:, None] * scale.double()

    return lambda: file.triton_int8_gemm(x, weight, scale), want


@repository.case(FILE, "gemm_fp8_kernel", small=SMALL, production=PRODUCTION, rtol=2e-2, atol=2e-2)  # fmt: skip
def product_fp8(file, device, m, n, k):
    x, weight, scale = _inputs(device, m, n, k)

    def want():
        x_scale = (x.abs().amax(1) / 448).clamp(min=1e-12).float()
        left = (x * (1 / x_scale).to(HALF)[:, None]).to(tm.FP8).float().double()
        right = weight.to(HALF).to(tm.FP8).float().double()
        return left @ right * x_scale.double()[:, None] * scale.double()

    return lambda: file.triton_fp8_gemm(x, weight, scale), want


@repository.case(FILE, "gemm_fp16_kernel", small=SMALL, production=PRODUCTION, rtol=1e-2, atol=2e-2)  # fmt: skip
def product_fp16(file, device, m, n, k):
    x, weight, scale = _inputs(device, m, n, k)
    return (
        lambda: file.triton_fp16_gemm(x, weight, scale),
        lambda: x.double() @ (weight.double() * scale.double()),
    )


@repository.case(FILE, "fused_softmax_entropy_kernel", small=dict(b=2, h=2, s=50), production=dict(b=2, h=8, s=2048), rtol=1e-2, atol=1e-3)  # fmt: skip
def softmax_with_entropy(file, device, b, h, s):
    x = tm.normal(b, h, s, s, device=device, dtype=HALF, scale=2.0)

    def want():
        visible = torch.ones(s, s, dtype=torch.bool, device=device).tril()
        p = x.double().masked_fill(~visible, float("-inf")).softmax(-1)
        return p, torch.special.entr(p).sum(-1).mean((1, 2))

    return lambda: file.fused_softmax_entropy(x), want
