"""Long context modeling: attention to chosen chunks, each of which has a softmax and a weight."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import PYTEST, Repository

repository = Repository(
    "ant-research/long-context-modeling",
    "aa7fa60216ce99c59375487dad0464d7767fdeb4",
    packages={"ltriton": "."},
    stand_ins={
        **PYTEST,
        "flash_attn.flash_attn_interface": {},
        "einops": {"rearrange": lambda x, _: x.transpose(2, 3).flatten(1, 2)},  # its one pattern
    },
)
BF16 = torch.bfloat16


@repository.case("ltriton/gca.py", "_attn_fwd, kernel_attn_bwd_dkdv, kernel_attn_bwd_dq", rtol=2e-2, atol=2e-2, share=1e-2, small=dict(b=1, h=2, group=2, n=64, chunks=4, m=64, d=64), production=dict(b=128, h=8, group=4, n=64, chunks=16, m=64, d=64))  # fmt: skip
def chunks(file, device, b, h, group, n, chunks, m, d):
    q, up = (tm.normal(b, h * group, n, d, device=device, dtype=BF16) for _ in range(2))
    k, v = (tm.normal(b, h, chunks, m, d, device=device, dtype=BF16) for _ in range(2))
    weights = (torch.rand(b, chunks) + 0.5).to(BF16).to(device)

    def exact(q, k, v, weights):
        q = q.unflatten(1, (h, group))
        p = torch.einsum("bhgnd,bhcmd->bhgcnm", q, k * d**-0.5).softmax(-1)
        return torch.einsum("bhgcnm,bhcmd,bc->bhgnd", p, v, weights).flatten(1, 2)

    return (
        lambda: tm.with_gradients(
            lambda *a: file.attention(*a, d**-0.5, 0.0), up, q, k, v, weights
        ),
        lambda: tm.with_gradients(exact, up, q, k, v, weights, exact=True),
    )
