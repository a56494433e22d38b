"""Universal attention: sums of affinities in float32 products, sums along rows by spinning programs."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("spikerheado1234/Universal_Attention_triton", "c116c4c57ef7f7bc2047204efd969509ed54e031", stand_ins={"packaging": {"version": SimpleNamespace(parse=str)}})  # fmt: skip
FOLDER = "Universal_Attention/triton/"


def _one(kernel, warps, **blocks):
    """One of its 27 configurations."""
    kernel.configs = [c for c in kernel.configs if (c.num_warps, c.num_stages) == (warps, 2) and c.kwargs == blocks]  # fmt: skip


@repository.case(FOLDER + "universal_attention_kernel.py", "_universal_attention_fwd_kernel", small=dict(b=1, h=2, r=2, n=3, c=16, d=32), production=dict(b=1, h=8, r=2, n=32, c=64, d=128), rtol=1e-3, atol=1e-3)  # fmt: skip
def attention(file, device, b, h, r, n, c, d):
    k, v = (tm.normal(b, h, n, c, d, device=device, scale=s) for s in (d**-0.5, 1))
    q = tm.normal(b, h, r, n, c, d, device=device)
    src, dest = (torch.rand(b, h, n, c).to(device) for _ in range(2))
    _one(file._universal_attention_fwd_kernel, 4, BLOCK_D=32)

    def run():
        out, sums = file._universal_attention_fwd(k, v, q, src, dest)
        return (out * sums.softmax(-1)[..., None, :]).sum(-1), sums.logsumexp(-1)

    def want():
        keys, values = (x.double().flatten(2, 3) for x in (k, v))
        a = (keys @ keys.mT).relu() ** (2 / 3)
        a = a * src.double().flatten(2)[..., None] ** (1 / 3) * dest.double().flatten(2)[..., None, :] ** (1 / 3)  # fmt: skip
        a = torch.log1p(-a.clamp(0, 1 - 1e-6)).triu(1).cumsum(-1)
        s = keys[:, :, None] @ q.double().flatten(3, 4).mT + a[:, :, None]
        s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).tril(-1), -torch.inf).mT
        return s.softmax(-1) @ values[:, :, None], s.logsumexp(-1)

    return run, want


for _three in (False, True):

    @repository.case(FOLDER + "matmul.py", f"broadcasted_{2 + _three}D_matmul_kernel", small=dict(b=1, h=2, rep=2, m=70, n=100, k=96), production=dict(b=2, h=8, rep=4, m=1024, n=2048, k=128), name=f"product_in_{2 + _three}_dimensions", rtol=1e-2, atol=2e-2)  # fmt: skip
    def products(file, device, b, h, rep, m, n, k, three=_three):
        x, y = (tm.normal(*s, k, device=device, scale=0.3) for s in ((b, h, m), (b, h * rep, n)))
        for kernel in (file.broadcasted_2D_matmul_kernel, file.broadcasted_3D_matmul_kernel):
            _one(kernel, 8, BLOCK_K=32)

        def want():
            return x.double().repeat_interleave(rep, 1) @ y.double().mT

        return lambda: file.broadcasted_matmul_triton(x, y, _3D=three), want


@repository.case(FOLDER + "cumsum.py", "cumsum_kernel", small=dict(b=1, h=2, m=70, n=200), production=dict(b=2, h=4, m=2048, n=4096), rtol=1e-4, atol=1e-3, finds="race-warp-order")  # fmt: skip
def sums_along_rows(file, device, b, h, m, n):
    # A program hands on what it stored by an atomic, with no barrier between.
    x = tm.normal(b, h, m, n, device=device)
    _one(file.cumsum_kernel, 4)
    return lambda: file.cumsum_triton(x), lambda: x.double().cumsum(-1)
