"""MInference: attention over blocks of keys that each block of queries has chosen."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("microsoft/MInference", "fb56c917f618e8645f1cfc37535afd7424d78f0d", packages={"minference": "."})  # fmt: skip


@repository.case("minference/ops/block_sparse_flash_attention.py", "_triton_block_sparse_attn_fwd_kernel", small=dict(h=2, n=256, d=64, most=3), production=dict(h=32, n=8192, d=128, most=32), rtol=2e-2, atol=2e-2)  # fmt: skip
def block_sparse(file, device, h, n, d, most, block=64):
    q, k, v = (tm.normal(1, h, n, d, device=device, dtype=torch.bfloat16) for _ in range(3))
    lengths = torch.tensor([n - 5], dtype=torch.int32, device=device)
    blocks = n // block
    # A row takes so many blocks as it can see, if that is fewer than `most`: itself among them.
    order = torch.rand(h, blocks, blocks).tril() + torch.eye(blocks)
    chosen = order.topk(most).indices.to(torch.int32)[None].to(device)

    def want():
        taken = torch.arange(most, device=device) < torch.arange(1, blocks + 1, device=device)[:, None]  # fmt: skip
        seen = torch.zeros(1, h, blocks, blocks, device=device)
        seen.scatter_add_(3, chosen.long(), taken.expand_as(chosen).float())
        fine = seen.repeat_interleave(block, 2).repeat_interleave(block, 3) > 0
        out = tm.attention(q, k, v, causal=True, bias=torch.where(fine, 0.0, -math.inf))[0]
        out[:, :, n - 5 :] = 0
        return out

    run = file._triton_block_sparse_attention
    return lambda: run(q, k, v, lengths, chosen, d**-0.5), want
