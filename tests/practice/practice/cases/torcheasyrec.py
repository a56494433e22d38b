"""TorchEasyRec: products, norms, positions and HSTU attention of jagged sequences."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "alibaba/TorchEasyRec",
    "54cac3165a2adece9a932616463a5b6a2095b0ce",
    packages={"tzrec": "."},
    stand_ins={"tzrec.utils.fx_util": {"fx_int_item": int}},
)
OPS = "tzrec/ops/_triton/"
BF16 = torch.bfloat16


@repository.case(OPS + "triton_addmm.py", "_addmm_fwd", small=dict(m=70, n=90, k=100), production=dict(m=16384, n=2048, k=1024), rtol=2e-2, atol=5e-2)  # fmt: skip
def addmm(file, device, m, n, k):
    x, w = (tm.normal(*s, device=device, dtype=BF16) for s in ((m, k), (k, n)))
    rows, row = tm.normal(m, n, device=device, dtype=BF16), tm.normal(n, device=device, dtype=BF16)
    return (
        lambda: [file.triton_addmm(y, x, w) for y in (rows, row)],
        lambda: [y.double() + x.double() @ w.double() for y in (rows, row)],
    )


ROWS = dict(small=dict(m=50, n=200), production=dict(m=16384, n=1024), rtol=1e-3, atol=2e-2)


def _norm(name, kernels, function, right):
    @repository.case(OPS + "triton_layer_norm.py", kernels, **ROWS, name=name)
    def build(file, device, m, n):
        x, g = (tm.normal(m, n, device=device) for _ in range(2))
        w, b = tm.normal(n, device=device), tm.normal(n, device=device)
        leaves = (x, w) if name == "rms_norm" else (x, w, b)
        return (
            lambda: tm.with_gradients(lambda *a: function(file, *a), g, *leaves),
            lambda: tm.with_gradients(right, g, *leaves, exact=True),
        )


_norm(
    "layer_norm",
    "_weighted_layer_norm_fwd, _weighted_layer_norm_bwd_dx, _layer_norm_bwd_dwdb",
    lambda file, x, w, b: file.triton_layer_norm(x, w, b, 1e-5),
    lambda x, w, b: F.layer_norm(x, w.shape, w, b, 1e-5),
)
_norm(
    "swish_layer_norm",
    "_weighted_layer_norm_fwd, _weighted_layer_norm_bwd_dx, _layer_norm_bwd_dwdb",
    lambda file, x, w, b: file.triton_swish_layer_norm(x, list(w.shape), w, b, 1e-5),
    lambda x, w, b: x * torch.sigmoid(F.layer_norm(x, w.shape, w, b, 1e-5)),
)
_norm(
    "rms_norm",
    "_weighted_rms_norm_fwd, _weighted_rms_norm_bwd_dx, _rms_norm_bwd_dwdb",
    lambda file, x, w: file.triton_rms_norm(x, w, 1e-5),
    lambda x, w: F.rms_norm(x, w.shape, w, 1e-5),
)


def _norm_mul(name, kernels, heads):
    @repository.case(OPS + "triton_hstu_linear.py", kernels, small=dict(m=50, n=128), production=dict(m=16384, n=1024), rtol=1e-3, atol=2e-2, name=name)  # fmt: skip
    def build(file, device, m, n):
        """Without dropout; what is normalised times u, after u and x."""
        x, u = (tm.normal(m, n, device=device) for _ in range(2))
        g = tm.normal(m, 3 * n, device=device)
        w, b = (tm.normal(heads or n, device=device) for _ in range(2))

        def run(x, u, w, b):
            return file.triton_norm_mul_dropout(
                x, u, w, b, 1e-5, 0.0, False, concat_ux=True, group_norm=heads > 0,
                num_heads=heads or 1, linear_dim=n // (heads or 1),
            )  # fmt: skip

        def right(x, u, w, b):
            if heads:
                parts = x.unflatten(-1, (heads, -1))
                y = F.layer_norm(parts, parts.shape[-1:], eps=1e-5) * w[:, None] + b[:, None]
            else:
                y = F.layer_norm(x, w.shape, w, b, 1e-5)
            return torch.cat([u, x, y.view(x.shape) * u], -1)

        return (
            lambda: tm.with_gradients(run, g, x, u, w, b),
            lambda: tm.with_gradients(right, g, x, u, w, b, exact=True),
        )


_norm_mul("layer_norm_mul", "_ln_mul_dropout_fwd, _ln_mul_dropout_bwd_dx_du", 0)
_norm_mul("group_norm_mul", "_group_norm_mul_dropout_fwd, _group_norm_mul_dropout_bwd_dx_du", 4)


@repository.case(OPS + "triton_position.py", "_add_timestamp_position_embeddings_kernel, _add_embeddings_bwd_kernel", small=dict(b=3, n=60, d=48), production=dict(b=64, n=2048, d=512), rtol=1e-3, atol=1e-2)  # fmt: skip
def positions(file, device, b, n, d):
    lengths = tm.lengths(b, n)
    ends = tm.starts(lengths, device, torch.int64)
    counts = torch.tensor(lengths, device=device)
    x, g = (tm.normal(sum(lengths), d, device=device) for _ in range(2))
    by_place, by_time = tm.normal(n + 8, d, device=device), tm.normal(65, d, device=device)
    steps = torch.randint(1, 3000, (sum(lengths),))
    times = torch.cat([part.cumsum(0) for part in steps.split(lengths)]).to(device)

    def run(x, by_place, by_time):
        return file.triton_add_timestamp_positional_embeddings(
            x, ends, by_place, by_time, times, n, 0, counts, None, False, "sqrt", 60.0
        )

    def right(x, by_place, by_time):
        last = torch.cat([part[-1].expand(len(part)) for part in times.split(lengths)])
        away = (last - times).float().clamp(min=1e-6) / 60.0
        bucket = away.sqrt().int().clamp(0, 64).long()
        place = torch.cat([torch.arange(size, 0, -1) for size in lengths]).to(device)
        return x + by_place[place.clamp(max=n + 7)] + by_time[bucket]

    return (
        lambda: tm.with_gradients(run, g, x, by_place, by_time),
        lambda: tm.with_gradients(right, g, x, by_place, by_time, exact=True),
    )


@repository.case(OPS + "triton_jagged_tensors.py", "jagged_dense_bmm_broadcast_add_kernel, _jagged_jagged_bmm_reduce_sum", small=dict(b=3, n=60, k=48, m=32), production=dict(b=64, n=1024, k=512, m=512), rtol=1e-2, atol=5e-1, share=1e-3)  # fmt: skip
def jagged_products(file, device, b, n, k, m):
    lengths = tm.lengths(b, n)
    ends = tm.starts(lengths, device, torch.int64)
    x = tm.normal(sum(lengths), k, device=device, dtype=BF16)
    dense, bias = (tm.normal(*s, device=device, dtype=BF16) for s in ((b, k, m), (b, m)))
    g = tm.normal(sum(lengths), m, device=device, dtype=BF16)

    def right(x, dense, bias):
        parts = zip(x.split(lengths), dense, bias, strict=True)
        return torch.cat([p @ w + y for p, w, y in parts])

    return (
        lambda: tm.with_gradients(lambda *a: file.triton_jagged_dense_bmm_broadcast_add(n, ends, *a), g, x, dense, bias),
        lambda: tm.with_gradients(right, g, x, dense, bias, exact=True),
    )  # fmt: skip


# The lock of its backward is given back with no barrier after the store that it guards.
@repository.case(OPS + "triton_hstu_attention.py", "_hstu_attn_fwd, _hstu_attn_fwd_one_block, _hstu_attn_bwd, _hstu_attn_bwd_one_block", small=dict(b=2, n=70, h=2, d=32), production=dict(b=8, n=2048, h=4, d=128), rtol=3e-2, atol=5e-3, finds="race-warp-order")  # fmt: skip
def hstu_attention(file, device, b, n, h, d):
    """The last targets of a sequence do not see each other."""
    lengths = tm.lengths(b, n)
    ends = tm.starts(lengths, device, torch.int64)
    *qkv, g = (tm.normal(sum(lengths), h, d, device=device, dtype=BF16) for _ in range(4))
    targets = tm.integers(1, 10, b, device=device)

    def one(q, k, v, count):
        s = torch.einsum("mhd,nhd->hmn", q, k) * d**-0.5
        rows = torch.arange(len(q), device=device).clamp(max=len(q) - count)
        own = torch.eye(len(q), dtype=torch.bool, device=device)
        seen = own | (rows[:, None] > rows)
        return torch.einsum("hmn,nhd->mhd", F.silu(s) / n * seen, v)

    def right(q, k, v):
        parts = zip(*(x.split(lengths) for x in (q, k, v)), targets.tolist(), strict=True)
        return torch.cat([one(*part) for part in parts])

    return (
        lambda: tm.with_gradients(lambda *x: file.triton_hstu_mha(n, d**-0.5, *x, ends, True, targets), g, *qkv),
        lambda: tm.with_gradients(right, g, *qkv, exact=True),
    )  # fmt: skip
