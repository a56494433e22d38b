"""DoubleSparse: scores by few channels, in 16 and 8 bits, and attention over chosen tokens."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("andy-yang-1/DoubleSparse", "b0575e638a279d9b2bdd2359dc3fcb5616a1c67a")
PLACE = "models/triton_kernels/"
F16 = torch.float16
SCORES = dict(small=dict(b=2, h=3, n=64, c=8), production=dict(b=32, h=32, n=2048, c=8))


@repository.case(f"{PLACE}bgemv.py", "bgemv_kernel", **SCORES, rtol=1e-2, atol=2e-2)
def scores(file, device, b, h, n, c):
    q = tm.normal(b, h, c, device=device, dtype=F16)
    k = tm.normal(b * n, h, c, device=device, dtype=F16)
    out = q.new_empty(b, h, n)
    keys = k.view(b, n, h, c).double()
    return (
        lambda: file.bgemv(q, k, out),
        lambda: torch.einsum("bhc,bnhc->bhn", q.double(), keys),
    )


@repository.case(f"{PLACE}bgemv_int8.py", "bgemv_int8_kernel", **SCORES, rtol=1e-2, atol=5e-2)
def scores_int8(file, device, b, h, n, c):
    q = tm.normal(b, h, c, device=device, dtype=F16)
    k = tm.integers(-128, 128, b * n, h, c, device=device, dtype=torch.int8)
    scales = (torch.rand(b * n, h) / 100).to(F16).to(device)
    out = q.new_empty(b, h, n)
    keys = (k.double() * scales.double()[..., None]).view(b, n, h, c)
    return (
        lambda: file.bgemv_int8(q, k, scales, out),
        lambda: torch.einsum("bhc,bnhc->bhn", q.double(), keys),
    )


@repository.case(f"{PLACE}channel.py", "get_label_tensor_kernel", small=dict(n=9, h=3, d=32, c=8), production=dict(n=16384, h=32, d=128, c=16))  # fmt: skip
def channels(file, device, n, h, d, c):
    x = tm.normal(n, h, d, device=device, dtype=F16)
    chosen = torch.stack([torch.randperm(d)[:c] for _ in range(h)]).to(device)

    def run():
        out = x.new_empty(n, h, c)
        file.get_label_tensor(x, chosen, out, c)
        return out

    return run, lambda: x.gather(2, chosen.expand(n, h, c))


@repository.case(f"{PLACE}sparse.py", "fwd_sparse_kernel", small=dict(b=2, h=3, n=64, d=32, c=16), production=dict(b=32, h=32, n=2048, d=128, c=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def chosen_tokens(file, device, b, h, n, d, c):
    q = tm.normal(b, h, d, device=device, dtype=F16)
    k, v = (tm.normal(b * n, h, d, device=device, dtype=F16) for _ in range(2))
    chosen = torch.rand(b, h, n).topk(c).indices.to(device)
    mask = q.new_zeros(b, c)

    def want():
        index = chosen[..., None].expand(b, h, c, d)
        keys, values = (x.view(b, n, h, d).transpose(1, 2).gather(2, index) for x in (k, v))
        return tm.attention(q[:, :, None], keys, values)[0][:, :, 0]

    return lambda: file.fwd_sparse(q, k, v, torch.empty_like(q), chosen, mask), want
