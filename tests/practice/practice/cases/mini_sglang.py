"""mini-sglang: mixture of experts."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "sgl-project/mini-sglang",
    "20fcd7f3c6a1898a61139fae1c97cc7a40bd8d66",
    packages={"minisgl": "python"},
)


@repository.case("python/minisgl/kernel/triton/fused_moe.py", "moe_sum_reduce_kernel", small=dict(m=9, t=2, n=300), production=dict(m=8192, t=8, n=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def sum_of_experts(file, device, m, t, n):
    x = tm.normal(m, t, n, device=device, dtype=torch.bfloat16)

    def run():
        out = torch.empty(m, n, device=device, dtype=torch.bfloat16)
        file.moe_sum_reduce_kernel[(m, -(-n // 256))](
            x, *x.stride(), out, *out.stride(), m, t, n, BLOCK_M=1, BLOCK_DIM=256, NUM_STAGE=1
        )
        return out

    return run, lambda: x.double().sum(1)
