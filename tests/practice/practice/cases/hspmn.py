"""HSPMN: attention of some queries, at places of their own, to all keys before them."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("NetBr3ak/HSPMN-v2.1", "2ea8af6118c5a0d6039f81a62dc4b7509266e9b6")


@repository.case(
    "kernels_v2_1.py",
    "_sqdk_fwd_kernel",
    rtol=1e-2,
    atol=2e-3,
    share=1e-3,
    small=dict(b=2, t=200, active=70, heads=3, d=32),
    production=dict(b=4, t=4096, active=1024, heads=16, d=128),
)
def attention_of_some_queries(file, device, b, t, active, heads, d):
    q, k, v = (
        tm.normal(b, n, heads, d, device=device, dtype=torch.float16) for n in (active, t, t)
    )
    places = torch.stack([torch.randperm(t)[:active].sort().values for _ in range(b)])
    places = places.to(torch.int32).to(device)

    def want():
        late = torch.arange(t, device=device) > places[:, None, :, None]
        bias = torch.zeros_like(late, dtype=torch.float64).masked_fill(late, float("-inf"))
        return tm.attention(*(x.transpose(1, 2) for x in (q, k, v)), bias=bias)[0].transpose(1, 2)

    return lambda: file.sparse_query_dense_key_attention(q, k, v, places), want
