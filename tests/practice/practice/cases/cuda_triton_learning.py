"""cuda-triton-learning: a step of AdamW, numbers of 8 bits."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "shizhengLi/cuda-triton-learning", "4324f379b40f2e5e1ad7c07eca247bc65eed3b7f"
)
BASICS = "triton_basics/"


@repository.case(BASICS + "04_optimizers/adam_variants/adam_optimizers.py", "adamw_update_kernel", small=dict(n=3000), production=dict(n=1 << 26), rtol=1e-4)  # fmt: skip
def adamw(file, device, n):
    tensors = [tm.normal(n, device=device, scale=0.1) for _ in range(3)] + [torch.rand(n).to(device) * 0.01]  # fmt: skip
    rate, beta1, beta2, eps, decay, step = 1e-2, 0.9, 0.99, 1e-8, 0.1, 3
    corrections = 1 - beta1**step, 1 - beta2**step

    def run():
        p, g, m, v = (x.clone() for x in tensors)
        file.adamw_update_kernel[(-(-n // 1024),)](p, g, m, v, rate, beta1, beta2, eps, decay, *corrections, n, BLOCK_SIZE=1024)  # fmt: skip
        return p, m, v

    def want():
        p, g, m, v = (x.double() for x in tensors)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        update = m / corrections[0] / ((v / corrections[1]).sqrt() + eps)
        return p * (1 - rate * decay) - rate * update, m, v

    return run, want


@repository.case(BASICS + "05_advanced/01_quantization/quantization_ops.py", "int8_quantize_kernel, int8_dequantize_kernel", small=dict(n=3000), production=dict(n=1 << 27))  # fmt: skip
def int8(file, device, n):
    x = tm.normal(n, device=device, scale=2.0)
    scale, zero = torch.tensor([0.05], device=device), torch.tensor([3.0], device=device)

    def run():
        out, back = torch.empty(n, dtype=torch.int8, device=device), torch.empty_like(x)
        grid = (-(-n // 1024),)
        file.int8_quantize_kernel[grid](x, out, scale, zero, n, BLOCK_SIZE=1024)
        file.int8_dequantize_kernel[grid](out, back, scale, zero, n, BLOCK_SIZE=1024)
        return out, back

    def want():
        out = (x / scale + zero).trunc().clamp(-128, 127).double()
        return out, (out - zero) * scale

    return run, want
