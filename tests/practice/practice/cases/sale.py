"""SALE: queries and keys less their means in 4 bits, two in a byte, with scales of tokens."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("BirdChristopher/SALE", "39d380ce8b375e96a30a2a1bf8e2a00aab0c29c1", packages={"int4_flash_attn": "."})  # fmt: skip
FILE = "int4_flash_attn/quant_triton.py"
SIZES = dict(small=dict(b=1, h=4, kv=2, t=1056, d=32), production=dict(b=1, h=32, kv=8, t=8192, d=128))  # fmt: skip


def _unpacked(x):
    both = torch.stack([x >> 4, x & 15], -1).flatten(-2).to(torch.int32)
    return torch.where(both > 7, both - 16, both)


def _inputs(device, b, h, kv, t, d):
    q = tm.normal(b, h, t, d, device=device, dtype=torch.float16) + 1
    return q, tm.normal(b, kv, t, d, device=device, dtype=torch.float16) - 1


# Half precision decides where a number between two steps goes.
@repository.case(FILE, "triton_fwd", rtol=2e-2, atol=2e-2, share=3e-2, **SIZES)
def scales_of_tokens(file, device, b, h, kv, t, d):
    q, k = _inputs(device, b, h, kv, t, d)

    def run():
        of_q, of_k, sq, sk, both, smooth = file.int4_quant_sub_k_mean_pertoken_SmoothQ_allInOne.quant(q, k)  # fmt: skip
        return _unpacked(of_q), _unpacked(of_k), sq[..., :t], sk[..., :t], both[..., :t], smooth

    def want():
        x, y = (v.double() - v.mean(2, keepdim=True).double() for v in (q, k))
        sq, sk = x.abs().amax(-1) / 7, y.abs().amax(-1) / 7
        both = torch.einsum("bhd,bhtd->bht", q.mean(2).double(), y.repeat_interleave(h // kv, 1))
        return (x / sq[..., None]).round(), (y / sk[..., None]).round(), sq, sk, both, y

    return run, want


@repository.case(FILE, "triton_fwd_q, triton_fwd_k", rtol=2e-2, atol=2e-2, share=3e-2, small=dict(b=2, h=2, kv=2, t=256, d=32), production=dict(b=1, h=32, kv=32, t=8192, d=128))  # fmt: skip
def scales_of_threads(file, device, b, h, kv, t, d):
    """The tokens that one thread of a tensor core's tile holds share a scale. With fewer heads of
    keys than of queries it would read beyond the queries."""
    q, k = _inputs(device, b, h, kv, t, d)

    def run():
        kernels = file.int4_quant_sub_k_mean_perwarp_SmoothQ_fullsize_allInOne
        of_q, of_k, sq, sk, _, smooth = kernels.quant(q, k, 64)
        return _unpacked(of_q), _unpacked(of_k), sq[..., :t], sk[..., :t], smooth

    def want():
        x, y = (v.double() - v.mean(2, keepdim=True).double() for v in (q, k))
        sq = x.abs().amax(-1).view(b, h, t // 16, 2, 8).amax(3, keepdim=True) / 7
        sq = sq.expand(-1, -1, -1, 2, -1).reshape(b, h, t)
        sk = y.abs().amax(-1).view(b, kv, t // 64, 8, 4, 2).amax((3, 5), keepdim=True) / 7
        sk = sk.expand(-1, -1, -1, 8, -1, 2).reshape(b, kv, t)
        return (x / sq[..., None]).round(), (y / sk[..., None]).round(), sq, sk, y

    return run, want
