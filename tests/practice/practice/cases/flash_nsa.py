"""Scalable-Flash-Native-Sparse-Attention: gates, rotations, means of blocks, attention to them."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "mdy666/Scalable-Flash-Native-Sparse-Attention",
    "fcf117c3c8a12e274aa75f2a01b0d12d76f44128",
    packages={"flash_nsa": "."},
    stand_ins={"pkg_resources": {"parse_version": lambda text: tuple(map(int, text.split(".")[:2]))}},
)  # fmt: skip
BF16 = torch.bfloat16
SIZE, STRIDE = 32, 16  # of the blocks that are compressed


@repository.case("flash_nsa/ops/act.py", "_swiglu_fwd, _swiglu_bwd", rtol=1e-2, atol=1e-2, small=dict(m=30, n=200), production=dict(m=4096, n=11008))  # fmt: skip
def swiglu(file, device, m, n):
    x, up = (tm.normal(m, k, device=device, dtype=BF16) for k in (2 * n, n))
    return (
        lambda: tm.with_gradients(file.swiglu_impl, up, x),
        lambda: tm.with_gradients(tm.silu_mul, up.double(), x, exact=True),
    )


@repository.case("flash_nsa/ops/combine.py", "_fused_sigmoid_combine_fwd_kernel, _fused_sigmoid_combine_bwd_kernel", rtol=2e-2, atol=6e-2, small=dict(n=50, h=3, d=64), production=dict(n=8192, h=32, d=128))  # fmt: skip
def combine(file, device, n, h, d):
    a, b, c, up = (tm.normal(n, h, d, device=device, dtype=BF16) for _ in range(4))
    gates = tm.normal(n, h, 3, device=device, dtype=BF16)

    def right(a, b, c, gates):
        x, y, z = gates.sigmoid().split(1, -1)
        return a * x + b * y + c * z

    return (
        lambda: tm.with_gradients(file.fused_sigmoid_combine, up, a, b, c, gates),
        lambda: tm.with_gradients(right, up.double(), a, b, c, gates, exact=True),
    )


@repository.case("flash_nsa/ops/rope.py", "_fused_apply_rope_kernel", rtol=1e-2, atol=2e-2, small=dict(b=2, n=20, hq=6, hk=2, d=80), production=dict(b=4, n=4096, hq=32, hk=8, d=128))  # fmt: skip
def rotation(file, device, b, n, hq, hk, d):
    q, k = (tm.normal(b, n, h, d, device=device, dtype=BF16) for h in (hq, hk))
    up = tm.normal(b, n, hq + hk, d, device=device, dtype=BF16)
    angle = torch.rand(b, n, d // 2).to(device) * 6
    cos, sin = (torch.cat([x, x], -1) for x in (angle.cos(), angle.sin()))

    def right(q, k):
        return tm.rotated(torch.cat([q, k], 2), *(x[:, :, None, : d // 2] for x in (cos, sin)))

    def function(q, k):
        return torch.cat(file.fused_apply_rope(q, k, cos, sin), 2)

    return (
        lambda: tm.with_gradients(function, up, q, k),
        lambda: tm.with_gradients(right, up.double(), q, k, exact=True),
    )


def _means(x, ends):
    parts = [x[a:b] for a, b in zip(ends[:-1], ends[1:], strict=True)]
    return torch.cat([part.unfold(0, SIZE, STRIDE).mean(-1) for part in parts])


@repository.case("flash_nsa/ops/compress_kv.py", "_mean_pooling_fwd_kernel, _mean_pooling_bwd_kernel", rtol=1e-2, atol=1e-2, small=dict(parts=3, n=100, h=2, d=96), production=dict(parts=8, n=8192, h=8, d=192))  # fmt: skip
def means_of_blocks(file, device, parts, n, h, d):
    lengths = tm.lengths(parts, n, SIZE)
    starts = tm.starts(lengths, device)
    x = tm.normal(sum(lengths), h, d, device=device, dtype=BF16)
    blocks = sum((length - SIZE) // STRIDE + 1 for length in lengths)
    up = tm.normal(blocks, h, d, device=device, dtype=BF16)

    def function(x):
        file.NSAHelper.init_cu_seqlens(starts)
        return file.mean_pooling(x)

    def right(x):
        return _means(x, starts.tolist())

    return (
        lambda: tm.with_gradients(function, up, x),
        lambda: tm.with_gradients(right, up.double(), x, exact=True),
    )


@repository.case("flash_nsa/ops/compress_attn.py", "_cmp_fwd_kernel, _cmp_dkdv_kernel, _cmp_dq_kernel, _bwd_preprocess", rtol=3e-2, atol=3e-2, share=1e-3, small=dict(n=300, hq=4, hk=2, d=64), production=dict(n=8192, hq=32, hk=2, d=128))  # fmt: skip
def compressed_attention(file, device, n, hq, hk, d):
    blocks = (n - SIZE) // STRIDE + 1
    q, up = (tm.normal(n, hq, d, device=device, dtype=BF16) for _ in range(2))
    k, v = (tm.normal(blocks, hk, d, device=device, dtype=BF16) for _ in range(2))
    starts = tm.starts([n], device)
    up[: SIZE - 1] = 0  # they see no block

    def function(q, k, v):
        file.NSAHelper.init_cu_seqlens(starts)
        return file.compress_attn(q, k, v)[0]

    def right(q, k, v):
        k, v = (x.repeat_interleave(hq // hk, 1) for x in (k, v))
        scores = torch.einsum("nhd,mhd->hnm", q, k) * d**-0.5
        last = torch.arange(blocks, device=device) * STRIDE + SIZE - 1
        hidden = torch.arange(n, device=device)[:, None] < last
        p = scores.masked_fill(hidden, -1e30).softmax(-1)
        return torch.einsum("hnm,mhd->nhd", p.masked_fill(hidden, 0), v)

    def seen(results):
        return [results[0][SIZE - 1 :], *results[1:]]

    return (
        lambda: seen(tm.with_gradients(function, up, q, k, v)),
        lambda: seen(tm.with_gradients(right, up.double(), q, k, v, exact=True)),
    )


def _product(name, kernel, persistent):
    def build(file, device, m, n, k):
        x, y = (tm.normal(rows, k, device=device, dtype=BF16) for rows in (m, n))
        return (
            lambda: file.gemm(x, y, persistent=persistent),
            lambda: x.double() @ y.double().T,
        )

    repository.case("flash_nsa/ops/gemm.py", kernel, name=name, rtol=1e-2, atol=5e-2, small=dict(m=200, n=320, k=136), production=dict(m=4096, n=8192, k=4096))(build)  # fmt: skip


_product("product", "_gemm_kernel", False)
_product("persistent_product", "_persistent_gemm_kernel", True)
