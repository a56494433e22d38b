"""FeatherOps: products of fp16 and fp8 on GPUs without fp8."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("woct0rdho/ComfyUI-FeatherOps", "77255f0f862c75ecebe0f5aa966ca74f2eb892d7", packages={"kernel": "."})  # fmt: skip


@repository.case("kernel/triton/kernel.py", "fp8e4m3fn_to_fp16, _scaled_mm_kernel_interior", small=dict(m=128, n=128, k=192), production=dict(m=4096, n=4096, k=4096), rtol=2e-2, atol=5e-2)  # fmt: skip
def product_of_fp16_and_fp8(file, device, m, n, k):
    a = tm.normal(m, k, device=device, dtype=torch.float16)
    codes = torch.randn(k, n).clamp(0.02, None) * torch.randn(k, n).sign()
    b = codes.to(tm.FP8).to(device)
    scale, bias = torch.tensor([0.1], device=device), tm.normal(n, device=device, dtype=torch.float16)  # fmt: skip
    kernel = file._scaled_mm_kernel_interior
    size = 128 if m % 128 == 0 and k % 64 == 0 else 64
    kernel.configs = [file.triton.Config(dict(BLOCK_SIZE_M=size, BLOCK_SIZE_N=size, BLOCK_SIZE_K=64, GROUP_SIZE_M=4), num_warps=8, num_stages=3)]  # fmt: skip

    def want():
        return a.double() @ b.float().double() * 0.1 + bias.double()

    return lambda: file.scaled_mm_triton(a, b, scale, bias, torch.float16), want
