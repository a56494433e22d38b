"""LongCat-Video: attention to the blocks that are chosen by the products of the blocks' means."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "meituan-longcat/LongCat-Video",
    "6b3f4b8582a8bc3f20f795735f5383716c4ba794",
    packages={"longcat_video": "."},
    stand_ins={
        "longcat_video.block_sparse_attention.communicate": {},
        "longcat_video.context_parallel": {},
    },
)
FILE = "longcat_video/block_sparse_attention/bsa_interface.py"
BF16 = torch.bfloat16


@repository.case(FILE, "_attn_fwd_gating", rtol=1e-2, atol=1e-1, small=dict(b=1, h=2, m=100, n=90, d=64), production=dict(b=1, h=32, m=2048, n=2048, d=128))  # fmt: skip
def scores(file, device, b, h, m, n, d):
    q, k = (tm.normal(b, h, rows, d, device=device, dtype=BF16) for rows in (m, n))
    return lambda: file.cal_score_triton(q, k), lambda: q.double() @ k.double().transpose(-1, -2)


def _attention(name, kernel):
    def build(file, device, h, n, d, size_q, size_k, chosen):
        q, k, v = (tm.normal(1, h, n, d, device=device, dtype=BF16) for _ in range(3))
        blocks = torch.rand(1, h, n // size_q, n // size_k).argsort(-1)[..., :chosen]
        blocks = blocks.to(device)
        counts = tm.integers(1, chosen + 1, 1, h, n // size_q, device=device, dtype=torch.int32)

        def want():
            used = torch.arange(chosen, device=device) < counts[..., None]
            seen = torch.zeros(1, h, n // size_q, n // size_k, device=device)
            seen.scatter_reduce_(-1, blocks, used.float(), "amax")
            seen = seen.repeat_interleave(size_q, 2).repeat_interleave(size_k, 3)
            return tm.attention(q, k, v, bias=torch.zeros_like(seen).masked_fill(seen == 0, -torch.inf))  # fmt: skip

        return lambda: file.attn_fwd_bsa_varlen_triton(
            q, k, v, d**-0.5, blocks, counts, size_q, size_k, 0.0
        ), want

    sizes = dict(chosen=16, h=8, d=128, n=8192)
    if name == "small_blocks":
        small, sizes = dict(h=2, n=256, d=64, size_q=64, size_k=64, chosen=3), dict(sizes, size_q=64, size_k=64)  # fmt: skip
    else:
        small, sizes = dict(h=2, n=1024, d=64, size_q=128, size_k=256, chosen=3), dict(sizes, size_q=128, size_k=256)  # fmt: skip
    repository.case(FILE, kernel, name=name, rtol=2e-2, atol=2e-2, small=small, production=sizes)(build)  # fmt: skip


_attention("small_blocks", "_attn_fwd_bsa_varlen_align")
_attention("large_blocks", "_attn_fwd_bsa_varlen")


@repository.case(FILE, "create_mask_from_indices_kernel", rtol=0, atol=0, small=dict(b=1, h=2, m=20, n=30, chosen=4), production=dict(b=1, h=32, m=1200, n=1200, chosen=75))  # fmt: skip
def mask_of_blocks(file, device, b, h, m, n, chosen):
    blocks = torch.rand(b, h, m, n).argsort(-1)[..., :chosen].to(device)

    def want():
        return torch.zeros(b, h, m, n, device=device, dtype=torch.bool).scatter_(-1, blocks, True)

    return lambda: file.create_mask_from_indices_triton(blocks, n), want
