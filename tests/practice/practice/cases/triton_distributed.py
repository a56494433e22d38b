"""Triton-distributed: SwiGLU by programs that take many rows, and sums over chosen experts."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "ByteDance-Seed/Triton-distributed",
    "1512a81189315eca7ba38f884aaf239469a88ba3",
    packages={"triton_dist": "python"},
    stand_ins={
        "triton_dist.kernels.nvidia.common_ops": {},
        "triton_dist.language.extra.language_extra": {},
        "triton_dist.utils": {},
    },
)
SWIGLU = "python/triton_dist/kernels/nvidia/swiglu.py"
MOE = "python/triton_dist/kernels/nvidia/moe_utils.py"
BF16 = torch.bfloat16


def _swiglu(margin):
    def build(file, device, m, n):
        x = tm.normal(m, 2 * n, device=device, dtype=BF16)
        scale = torch.rand(m).to(device)

        def want():
            a, b = x.double().chunk(2, -1)
            return torch.nn.functional.silu(a) * b * scale.double()[:, None]

        return lambda: file.swiglu_forward(x, scale, margin)[0], want

    end = "_persistent" * bool(margin)
    repository.case(SWIGLU, "_swiglu_forward_kernel" + end, rtol=2e-2, atol=2e-2, name="swiglu" + end, small=dict(m=300, n=200), production=dict(m=16384, n=4096))(build)  # fmt: skip


_swiglu(0)
_swiglu(4)


@repository.case(MOE, "reduce_topk_non_tma_kernel", rtol=3e-2, atol=5e-2, small=dict(m=40, topk=3, n=256), production=dict(m=16384, topk=8, n=4096))  # fmt: skip
def reduced(file, device, m, topk, n):
    x, bias = tm.normal(m * topk, n, device=device, dtype=BF16), tm.normal(m, n, device=device, dtype=BF16)  # fmt: skip
    out = torch.empty_like(bias)

    def run():
        file.reduce_topk_non_tma(x, bias, out)
        return out

    return run, lambda: x.double().view(m, topk, n).sum(1) + bias.double()


@repository.case(MOE, "reduce_topk_tma_kernel", rtol=3e-2, atol=5e-2, small=dict(m=40, topk=2, n=2048), production=dict(m=16384, topk=2, n=4096))  # fmt: skip
def reduced_by_tma(file, device, m, topk, n):
    x, out = tm.normal(m * topk, n, device=device, dtype=BF16), torch.empty(m, n, device=device, dtype=BF16)  # fmt: skip

    def run():
        file.triton.set_allocator(lambda size, _, __: torch.empty(size, dtype=torch.int8, device=device))  # fmt: skip
        file.reduce_topk_tma_kernel[(64,)](
            x, out, m, n, *x.stride(), topk, BLOCK_SIZE_M=32, BLOCK_SIZE_N=1024, num_warps=8, num_stages=1,
        )  # fmt: skip
        return out

    return run, lambda: x.double().view(m, topk, n).sum(1)
