"""AReaL: attention in a tree of sequences that share their beginnings, forward and backward."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "inclusionAI/AReaL", "4aef98d8d818af55b43621aaadba047ae10f4e77", packages={"areal": "."}
)
TREE = "areal/models/tree_attn/triton_kernel.py"
SMALL, LARGE = dict(b=1, h=2, hk=1, n=200, d=32), dict(b=1, h=16, hk=4, n=2048, d=128)


def _tree(device, b, n):
    """Each token's parent: mostly the token before, now and then an earlier one."""
    parents = torch.arange(n).expand(b, n) - 1
    for i in range(n // 5, n, n // 5):
        parents[:, i] = i // 2
    seen = torch.zeros(b, n, n, dtype=torch.bool)
    for i in range(n):
        if i:
            seen[:, i] = seen[0, parents[0, i]]
        seen[:, i, i] = True
    return parents, seen.to(device)


def _right(q, k, v, seen):
    bias = torch.zeros_like(seen, dtype=torch.float64).masked_fill(~seen, float("-inf"))
    return tm.attention(q, k, v, bias=bias[:, None])[0]


@repository.case(TREE, "_tree_attn_fwd_triton", small=SMALL, production=LARGE, rtol=2e-2, atol=2e-2)  # fmt: skip
def tree_attention(file, device, b, h, hk, n, d):
    q, k, v = (tm.normal(b, x, n, d, device=device, dtype=torch.bfloat16) for x in (h, hk, hk))
    parents, seen = _tree(device, b, n)
    data = file.precompute_tree_attention_data(parents)

    def run():
        return file.tree_attention_triton(
            q, k, v, data.packed_mask, data.kv_indices, data.kv_offsets
        )[0]

    return run, lambda: _right(q, k, v, seen)


@repository.case(TREE, "_tree_attn_fwd_triton, _tree_attn_bwd_preprocess, _tree_attn_bwd_dq, _tree_attn_bwd_dkdv", small=SMALL, production=LARGE, rtol=3e-2, atol=5e-2)  # fmt: skip
def tree_attention_gradients(file, device, b, h, hk, n, d):
    qkv = [tm.normal(b, x, n, d, device=device, dtype=torch.float16) for x in (h, hk, hk)]
    g = tm.normal(b, h, n, d, device=device, dtype=torch.float16)
    parents, seen = _tree(device, b, n)
    data = list(vars(file.precompute_tree_attention_data(parents)).values())
    return (
        lambda: tm.with_gradients(lambda *x: file.tree_attention(*x, *data), g, *qkv),
        lambda: tm.with_gradients(lambda *x: _right(*x, seen), g, *qkv, exact=True),
    )
