"""triton-flash-attention by Umar Jamil: attention by block pointers, with gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("hkproj/triton-flash-attention", "296ee44c8a238cd2192d13e22e9082251f1c1289")
KERNELS = "_attn_fwd, _attn_fwd_inner, _attn_bwd_preprocess, _attn_bwd_dk_dv, _attn_bwd_dq"


@repository.case("triton/flash_attention.py", KERNELS, small=dict(b=1, h=2, m=128, d=32), production=dict(b=2, h=16, m=4096, d=64), rtol=2e-2, atol=2e-2)  # fmt: skip
def causal(file, device, b, h, m, d):
    q, k, v, up = (tm.normal(b, h, m, d, device=device, dtype=torch.float16, scale=0.5) for _ in range(4))  # fmt: skip

    def right(q, k, v):
        return tm.attention(q, k, v, causal=True)[0]

    return (
        lambda: tm.with_gradients(
            lambda *x: file.TritonAttention.apply(*x, True, d**-0.5), up, q, k, v
        ),  # fmt: skip
        lambda: tm.with_gradients(right, up, q, k, v, exact=True),
    )
