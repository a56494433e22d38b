"""DeepSeek-V3: fp8 with a scale for each block."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("deepseek-ai/DeepSeek-V3", "9b4e9788e4a3a731f7567338ed15d3ec549ce03b")
FILE = "inference/kernel.py"


@repository.case(FILE, "act_quant_kernel", small=dict(m=5, n=512, form=None), production=dict(m=4096, n=7168, form="ue8m0"), rtol=0.07, atol=1e-3)  # fmt: skip
def act_quant(file, device, m, n, form):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16)

    def want():
        top = x.double().unflatten(-1, (-1, 128)).abs().amax(-1).clamp(min=1e-4) / 448
        scales = torch.exp2(torch.ceil(torch.log2(top))) if form == "ue8m0" else top
        return (x.double().unflatten(-1, (-1, 128)) / scales[..., None]).flatten(-2), scales

    return lambda: file.act_quant(x, scale_fmt=form), want


@repository.case(FILE, "weight_dequant_kernel", small=dict(m=200, n=384), production=dict(m=4096, n=7168), rtol=1e-5)  # fmt: skip
def weight_dequant(file, device, m, n):
    x = tm.fp8(m, n, device=device)
    scales = torch.rand(-(-m // 128), n // 128).to(device)
    return lambda: file.weight_dequant(x, scales), lambda: tm.dequantised_blocks(
        x, scales, 128, 128
    )


@repository.case(FILE, "fp8_gemm_kernel", small=dict(m=20, n=256, k=384), production=dict(m=4096, n=4096, k=7168), rtol=1e-3, atol=1e-3)  # fmt: skip
def fp8_gemm(file, device, m, n, k):
    a, b = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    s, t = torch.rand(m, k // 128).to(device), torch.rand(n // 128, k // 128).to(device)

    def want():
        return tm.dequantised_blocks(a, s, 128) @ tm.dequantised_blocks(b, t, 128, 128).T

    return lambda: file.fp8_gemm(a, s, b, t), want
