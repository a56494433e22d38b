"""Triton-MoBA: means of blocks of keys, the best blocks of each query, sums of partial results."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ReyJerry/Triton-MoBA", "7c44c895d087521702c549fa02b5e5e9b5d383e3", stand_ins={"flash_attn": {}, "flash_attn.flash_attn_interface": {}, "einops": {}})  # fmt: skip
FILE = "triton_moba/triton_moba.py"


@repository.case(FILE, "_chunk_mean_kernel", small=dict(chunks=5, size=64, h=3, d=64), production=dict(chunks=64, size=512, h=16, d=128), rtol=1e-4, atol=1e-5)  # fmt: skip
def chunk_means(file, device, chunks, size, h, d):
    k = tm.normal(chunks, size, h, d, device=device, dtype=torch.bfloat16)
    return lambda: file._compute_chunk_means_triton(k, size), lambda: k.double().mean(1)


@repository.case(FILE, "_chunk_topk_kernel", small=dict(n=300, chunks=9, size=32, h=2, d=64, k=3), production=dict(n=16384, chunks=32, size=512, h=16, d=128, k=4), share=1e-3)  # fmt: skip
def best_chunks(file, device, n, chunks, size, h, d, k):
    q, means = tm.normal(n, h, d, device=device), tm.normal(chunks, h, d, device=device)
    ends = (torch.arange(1, chunks + 1) * size).to(device)
    last = torch.full_like(ends, n)

    def want():
        scores = torch.einsum("chd,nhd->chn", means.double(), q.double())
        rows = torch.arange(n, device=device)
        scores = scores.masked_fill((rows < ends[:, None])[:, None], -torch.inf)
        best = torch.zeros_like(scores).scatter_(0, scores.topk(k, 0).indices, 1)
        return best * scores.isfinite()

    return lambda: file._compute_gate_mask_triton(q, means, ends, last, k), want


@repository.case(FILE, "_fused_merge_softmax_kernel", small=dict(rows=50, others=80, d=64), production=dict(rows=1 << 17, others=1 << 18, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def merge(file, device, rows, others, d):
    x, y = (tm.normal(m, d, device=device, dtype=torch.bfloat16) for m in (rows, others))
    lse, lses = (tm.normal(m, device=device, scale=2.0) for m in (rows, others))
    of = tm.integers(0, rows, others, device=device)

    def run():
        out, total = torch.empty_like(x), torch.empty_like(lse)
        file._fused_merge_softmax_triton(x, lse, y, lses, of, out, total)
        return out, total

    def want():
        weights = lses.double().exp()
        sums = lse.double().exp().index_add(0, of, weights)
        out = x.double() * lse.double().exp()[:, None]
        return out.index_add(0, of, y.double() * weights[:, None]) / sums[:, None], sums.log()

    return run, want
