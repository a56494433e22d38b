"""Fast memory: attention of each query to the keys of its bucket."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "notbadai/fast_memory",
    "692ffbe59ebb8244290005477d6ba1dd2f1a9909",
    stand_ins={"rich": {"print": print}, "labml": {}},
)


@repository.case(
    "triton_kernel.py",
    "_attn_fwd, _attn_fwd_inner",
    rtol=1e-2,
    atol=2e-3,
    share=1e-3,
    small=dict(b=2, queries=70, keys=300, buckets=4, most=150, d=32),
    production=dict(b=4, queries=8192, keys=16384, buckets=256, most=1024, d=128),
)
def attention_in_buckets(file, device, b, queries, keys, buckets, most, d):
    q, k, v = (
        tm.normal(b, n, d, device=device, dtype=torch.float16) for n in (queries, keys, keys)
    )
    counts = torch.randint(1, most + 1, (b, buckets))
    lists = [[torch.randperm(keys)[:n] for n in row.tolist()] for row in counts]
    ids = torch.cat([x for row in lists for x in row]).to(device)
    own = tm.integers(0, buckets, b, queries, device=device)
    counts = counts.to(device)

    def want():
        out, sums = torch.empty_like(q, dtype=torch.float64), torch.empty(b, queries).double()
        sums = sums.to(device)
        for i in range(b):
            for bucket in range(buckets):
                rows = (own[i] == bucket).nonzero()[:, 0]
                seen = lists[i][bucket].to(device)
                part = (x[i, at][None] for x, at in ((q, rows), (k, seen), (v, seen)))
                out[i, rows], sums[i, rows] = tm.attention(*part)
        return out, sums

    return lambda: file.attention_hash_varlen(q, k, v, ids, counts, own, d**-0.5), want
