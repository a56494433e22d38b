"""Tensor product attention: one query on keys and values that are products of two factors."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "tensorgi/TPA", "3d7f51deb97b8f51cd799c632fe2e417a3c2662c", folders=("decode",)
)
F16 = torch.float16
SIZES = dict(small=dict(b=2, m=300, h=16, r=16, d=32, e=64), production=dict(b=64, m=8192, h=32, r=16, d=64, e=64))  # fmt: skip


def _decode(function, device, b, m, h, r, d, e, factor=lambda x: x):
    aq, ak, av, bq, bk, bv = (
        tm.normal(b, *s, device=device, dtype=F16)
        for s in ((1, h, r), (m, h), (m, h), (1, r, d), (m, d), (m, e))
    )

    av, bv = av + 1, bv + 1

    def want():
        q = torch.einsum("bhr,brd->bhd", factor(aq[:, 0].double()), bq[:, 0].double()) / r
        s = torch.einsum("bhd,bmd->bhm", q, bk.double()) * factor(ak.double().mT) * 8 * d**-0.5
        p = s.softmax(-1) * factor(av.double().mT)
        return (p @ bv.double())[:, None]

    return lambda: function(aq, ak, av, bq, bk, bv, scale=8 * d**-0.5), want


@repository.case("decode/flashtpa_decode_triton.py", "_tpa_decode_parallel_b", rtol=5e-3, atol=5e-3, share=1e-3, **SIZES)  # fmt: skip
def decode(file, device, **size):
    return _decode(file.tpa_decode_parallel_b_triton, device, **size)


@repository.case("decode/flashtpa_decode_triton.py", "_tpa_decode_parallel_bh", rtol=5e-3, atol=5e-3, share=1e-3, **SIZES)  # fmt: skip
def decode_by_heads(file, device, **size):
    return _decode(file.tpa_decode_parallel_bh_triton, device, **size)


@repository.case("decode/flashtpa_decode_triton.py", "_tpa_decode_parallel_bn, _tpa_decode_reduce", rtol=5e-3, atol=5e-3, share=1e-3, **(SIZES | dict(small=SIZES["small"] | dict(m=1100))))  # fmt: skip
def decode_in_parts(file, device, **size):
    return _decode(file.tpa_decode_parallel_bn_triton, device, **size)


@repository.case("decode/flashtpa_decode_triton_sigmoid.py", "_tpa_decode_parallel_b", rtol=5e-3, atol=5e-3, share=1e-3, **SIZES)  # fmt: skip
def decode_of_sigmoids(file, device, **size):
    return _decode(file.tpa_decode_parallel_b_triton, device, **size, factor=torch.sigmoid)
