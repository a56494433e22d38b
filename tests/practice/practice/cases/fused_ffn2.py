"""Triton-fused-kernel: two linear layers in one kernel, whose programs add up what they have."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("wa008/Triton-fused-kernel", "ad61ef54a72b7240d0175ce254859d663607ba8d")


@repository.case("fused_kernel/ffn2_kernel.py", "ffn2_kernel", small=dict(m=40, k=70, n=100, block=32), production=dict(m=2048, k=1024, n=4096, block=64), rtol=1e-2, atol=1e-2)  # fmt: skip
def two_layers(file, device, m, k, n, block):
    x = tm.normal(m, k, device=device)
    up, down = tm.normal(n, k, device=device, scale=k**-0.5), tm.normal(k, n, device=device, scale=n**-0.5)  # fmt: skip
    nothing = torch.zeros(1, device=device)

    def run():
        out = torch.zeros_like(x)
        grid = -(-m // block), -(-n // block)
        file.ffn2_kernel[grid](x, up, nothing, down, nothing, out, m, k, n, block, block, block, BLOCK_SIZE=block)  # fmt: skip
        return out

    return run, lambda: (x.double() @ up.double().T) @ down.double().T
