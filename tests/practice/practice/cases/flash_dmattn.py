"""Flash dynamic mask attention: to chosen keys with a bias, forward and backward."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("SmallDoges/flash-dmattn", "f024c28873f9b444a1c1f7f009dc3653b3d220f9")
BF16 = torch.bfloat16


@repository.case(
    "flash_sparse_attn/flash_dmattn_triton.py",
    "_fwd_preprocess, _fwd_kernel, _bwd_preprocess_do_o_dot, _bwd_kernel, "
    "_bwd_kernel_one_col_block",
    rtol=3e-2,
    atol=3e-2,
    share=2e-3,
    small=dict(b=1, heads=4, kv_heads=2, t=100, window=70, d=32),
    production=dict(b=2, heads=16, kv_heads=8, t=4096, window=1024, d=128),
)
def attention_to_chosen_keys(file, device, b, heads, kv_heads, t, window, d):
    """The first key is always one of them."""
    q, up = (tm.normal(b, heads, t, d, device=device, dtype=BF16) for _ in range(2))
    k, v = (tm.normal(b, kv_heads, t, d, device=device, dtype=BF16) for _ in range(2))
    bias = tm.normal(b, kv_heads, t, device=device, dtype=BF16)
    ids = torch.rand(b, kv_heads, t)
    ids[..., 0] = 2
    ids = ids.topk(window).indices.to(device)

    def ours(q, k, v, bias):
        return file.FlashDMAttnFunc.apply(q, k, v, bias, ids, True, None)

    def exact(q, k, v, bias):
        rows = ids[..., None].expand(-1, -1, -1, d)
        late = ids[:, :, None] > torch.arange(t, device=device)[:, None]
        added = bias.gather(2, ids)[:, :, None].masked_fill(late, float("-inf"))
        added = added.repeat_interleave(heads // kv_heads, 1)
        return tm.attention(q, k.gather(2, rows), v.gather(2, rows), bias=added)[0]

    return (
        lambda: tm.with_gradients(ours, up, q, k, v, bias),
        lambda: tm.with_gradients(exact, up, q, k, v, bias, exact=True),
    )
