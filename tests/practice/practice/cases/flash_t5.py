"""FlashT5: attention with a bias, which has a gradient of its own."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "catie-aq/flashT5", "818f07c133de7266382921c726c653657d610ae4", folders=("src/model/ops",)
)


@repository.case("src/model/ops/flash_attention_v2_bias.py", "_fwd_kernel, _bwd_preprocess, _bwd_kv_kernel, _bwd_q_kernel", rtol=2e-2, atol=2e-3, share=1e-2, small=dict(b=2, h=2, m=70, n=90, d=32), production=dict(b=4, h=12, m=1024, n=1024, d=64))  # fmt: skip
def biased(file, device, b, h, m, n, d):
    """The functions that the custom ops are made of, since those take no tensors of the CPU."""
    q, up = (tm.normal(b, h, m, d, device=device, dtype=torch.float16) for _ in range(2))
    k, v = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(2))
    bias = tm.normal(1, h, m, n, device=device, dtype=torch.float16)
    how = False, d**-0.5, 32, 32, 4, 1

    def run():
        out, sums = file.flash_attn_v2_fwd._init_fn(q, k, v, bias, *how)
        grads = file.flash_attn_v2_bwd._init_fn(out, up, q, k, v, bias, sums, *how)
        return [out, *grads]

    def exact(q, k, v, bias):
        return tm.attention(q, k, v, bias=bias)[0]

    return run, lambda: tm.with_gradients(exact, up, q, k, v, bias, exact=True)
