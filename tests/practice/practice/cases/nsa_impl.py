"""nsa-impl: attention of each token to the blocks of keys that it has chosen."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "tilde-research/nsa-impl",
    "623e2c5a30a6979e1fc0cf264c09b66963b1e175",
    stand_ins={"fla.ops.nsa.parallel": {}},
)


@repository.case("nsa/selection.py", "_sel_attn_fwd_kernel, _sel_attn_bwd_preprocess_kernel, _sel_attn_bwd_kernel", rtol=2e-2, atol=3e-2, share=1e-3, small=dict(b=1, n=100, h=8, groups=2, d=64, block=32, chosen=3), production=dict(b=1, n=2048, h=32, groups=2, d=128, block=64, chosen=16))  # fmt: skip
def chosen_blocks(file, device, b, n, h, groups, d, block, chosen):
    q, up = (tm.normal(b, n, h, d, device=device, dtype=torch.float16) for _ in range(2))
    k, v = (tm.normal(b, n, groups, d, device=device, dtype=torch.float16) for _ in range(2))
    count = -(-n // block)
    order = torch.rand(b, n, groups, count)
    order.scatter_(-1, (torch.arange(n) // block)[None, :, None, None].expand(b, n, groups, 1), 2)
    ids = order.topk(chosen, -1).indices.to(device)  # its own block is one of them

    def function(q, k, v):
        return file.selection_attention(q, k, v, ids, None, block, d**-0.5, variant="one-pass")

    def right(q, k, v):
        seen = torch.zeros(b, n, groups, count, device=device).scatter_(-1, ids, 1)
        seen = seen.repeat_interleave(block, -1)[..., :n].repeat_interleave(h // groups, 2)
        bias = torch.zeros_like(seen).masked_fill(seen == 0, -torch.inf).transpose(1, 2)
        parts = (x.transpose(1, 2) for x in (q, k, v))
        return tm.attention(*parts, causal=True, bias=bias)[0].transpose(1, 2)

    return (
        lambda: tm.with_gradients(function, up, q, k, v),
        lambda: tm.with_gradients(right, up.double(), q, k, v, exact=True),
    )
