"""triton-kernels by leonematt: attention, activations and norms, launched by themselves."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("leonematt/triton-kernels", "27e715822118199048e0b5e8e7a3842dbdecaaea")
FOLDER = "src/triton_kernels/kernels/"
F16 = torch.float16


@repository.case(FOLDER + "flash_attention.py", "flash_attention_kernel", rtol=1e-2, atol=1e-2, small=dict(b=2, h=2, n=100, d=64, m=64), production=dict(b=4, h=32, n=2048, d=128, m=128))  # fmt: skip
def attention(file, device, b, h, n, d, m):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=F16) for _ in range(3))

    def run():
        out, strides = torch.empty_like(q), q.stride()
        grid = (-(-n // m) * b * h,)
        file.flash_attention_kernel[grid](
            q, k, v, out, d**-0.5, *strides * 4, b, h, n, n,
            BLOCK_M=m, BLOCK_N=64, BLOCK_DMODEL=d, CAUSAL=True, num_warps=m // 16,
        )  # fmt: skip
        return out

    return run, lambda: tm.attention(q, k, v, causal=True)[0]


@repository.case(FOLDER + "activation.py", "silu_and_mul_kernel", rtol=1e-2, atol=1e-3, small=dict(m=20, n=300), production=dict(m=8192, n=14336))  # fmt: skip
def silu_and_mul(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device, dtype=F16)

    def run():
        out = torch.empty(m, n, device=device, dtype=F16)
        file.silu_and_mul_kernel[(m,)](x, out, 2 * n, BLOCK_SIZE=file.triton.next_power_of_2(n))
        return out

    return run, lambda: tm.silu_mul(x)


@repository.case(FOLDER + "layernorm.py", "rms_norm_kernel", rtol=1e-4, atol=1e-5, small=dict(m=20, n=300), production=dict(m=8192, n=4096))  # fmt: skip
def rms_norm(file, device, m, n):
    x, weight = tm.normal(m, n, device=device), tm.normal(n, device=device)

    def run():
        out = torch.empty_like(x)
        size = file.triton.next_power_of_2(n)
        file.rms_norm_kernel[(m,)](x, out, weight, n, BLOCK_SIZE=size, EPS=1e-6)
        return out

    return run, lambda: tm.rms_norm(x, weight, 1e-6)
