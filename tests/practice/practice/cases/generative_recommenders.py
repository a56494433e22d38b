"""Generative recommenders: jagged tensors, HSTU attention, layer norms with a backward, GEMM."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "meta-recsys/generative-recommenders",
    "db1bf8f2e8f6a92a738dafd52a245eafb25a222b",
    packages={"generative_recommenders": "."},
)
FOLDER = "generative_recommenders/ops/triton/"


def _gradients(function, leaves, gradient, dtype):
    leaves = [x.detach().to(dtype).requires_grad_() for x in leaves]
    out = function(*leaves)
    return out, *torch.autograd.grad(out, leaves, gradient.to(dtype))


def _both(kernels, right, leaves, gradient):
    return (
        lambda: _gradients(kernels, leaves, gradient, leaves[0].dtype),
        lambda: _gradients(right, leaves, gradient, torch.float64),
    )


ROWS = dict(small=dict(m=70, n=200), production=dict(m=65536, n=512), rtol=1e-3, atol=1e-3)


@repository.case(FOLDER + "triton_layer_norm.py", "_weighted_layer_norm_fwd, _weighted_layer_norm_bwd_dx, _layer_norm_bwd_dwdb", **ROWS)  # fmt: skip
def layer_norm(file, device, m, n):
    x, w, b, g = (tm.normal(*s, device=device) for s in ((m, n), (n,), (n,), (m, n)))
    right = lambda x, w, b: F.layer_norm(x, (n,), w, b, 1e-5)
    return _both(lambda x, w, b: file.triton_layer_norm(x, w, b, 1e-5), right, (x, w, b), g)


@repository.case(FOLDER + "triton_layer_norm.py", "_weighted_layer_norm_fwd, _weighted_layer_norm_bwd_dx", **ROWS)  # fmt: skip
def swish_layer_norm(file, device, m, n):
    x, w, b, g = (tm.normal(*s, device=device) for s in ((m, n), (n,), (n,), (m, n)))
    right = lambda x, w, b: x * torch.sigmoid(F.layer_norm(x, (n,), w, b, 1e-5))
    return _both(
        lambda x, w, b: file.triton_swish_layer_norm(x, [n], w, b, 1e-5), right, (x, w, b), g
    )


@repository.case(FOLDER + "triton_layer_norm.py", "_weighted_rms_norm_fwd, _weighted_rms_norm_bwd_dx", **ROWS)  # fmt: skip
def rms_norm(file, device, m, n):
    x, w, g = (tm.normal(*s, device=device) for s in ((m, n), (n,), (m, n)))
    return _both(
        lambda x, w: file.triton_rms_norm(x, w, 1e-5),
        lambda x, w: tm.rms_norm(x, w, 1e-5),
        (x, w),
        g,
    )


GEMM = dict(
    small=dict(m=100, k=96, n=72), production=dict(m=16384, k=512, n=2048), rtol=1e-2, atol=2e-2
)


@repository.case(FOLDER + "triton_addmm.py", "_addmm_fwd", **GEMM)
def addmm(file, device, m, k, n):
    x, w, b = (tm.normal(*s, device=device, dtype=torch.bfloat16) for s in ((m, k), (k, n), (n,)))
    return lambda: file.triton_addmm_fwd(x, w, b), lambda: x.double() @ w.double() + b.double()


@repository.case(FOLDER + "triton_swiglu.py", "_swiglu_fwd_kernel", **GEMM)
def swiglu(file, device, m, k, n):
    x, a, b = (
        tm.normal(*s, device=device, dtype=torch.bfloat16, scale=0.3)
        for s in ((m, k), (n, k), (n, k))
    )

    def want():
        return F.silu(x.double() @ a.double().T) * (x.double() @ b.double().T)

    return lambda: file.triton_swiglu_fwd(x, a, b), want


class _Jagged:
    def __init__(self, device, b, n, d, dtype=torch.float32):
        self.lengths = tm.lengths(b, n, 2)
        self.offsets = tm.starts(self.lengths, device, torch.int64)
        self.values = tm.normal(sum(self.lengths), d, device=device, dtype=dtype)

    def each(self, values=None):
        return (self.values if values is None else values).split(self.lengths)


JAGGED = dict(small=dict(b=4, n=50, d=64), production=dict(b=256, n=2048, d=512))


@repository.case(
    FOLDER + "triton_jagged.py", "concat_2D_jagged, split_2D_jagged", **JAGGED, rtol=0, atol=0
)
def concatenated_jagged(file, device, b, n, d):
    one, two = _Jagged(device, b, n, d), _Jagged(device, b, n // 2, d)

    def run():
        return file.triton_concat_2D_jagged(
            one.lengths[0] + two.lengths[0], one.values, two.values, one.offsets, two.offsets
        )

    return run, lambda: torch.cat(
        [part for pair in zip(one.each(), two.each(), strict=True) for part in pair]
    )


@repository.case(FOLDER + "triton_jagged.py", "jagged_dense_bmm_broadcast_add_kernel, _jagged_jagged_bmm_reduce_sum, jagged_reduce_sum", **JAGGED, rtol=1e-2, atol=2e-2)  # fmt: skip
def jagged_dense_bmm_add(file, device, b, n, d):
    one = _Jagged(device, b, n, d)
    dense, bias = tm.normal(b, d, 32, device=device), tm.normal(b, 32, device=device)
    g = tm.normal(one.values.shape[0], 32, device=device)

    def right(x, dense, bias):
        return torch.cat(
            [part @ w + c for part, w, c in zip(one.each(x), dense, bias, strict=True)]
        )

    def kernels(x, dense, bias):
        return file._JaggedDenseBmmAddFunction.apply(n, one.offsets, x, dense, bias, False)

    return _both(kernels, right, (one.values, dense, bias), g)


@repository.case(FOLDER + "triton_jagged.py", "jagged_dense_broadcast_add_kernel", **JAGGED)
def jagged_dense_add(file, device, b, n, d):
    one, dense = _Jagged(device, b, n, d), tm.normal(b, d, device=device)
    g = tm.normal(*one.values.shape, device=device)
    right = lambda x, dense: torch.cat(
        [part + row for part, row in zip(one.each(x), dense, strict=True)]
    )
    kernels = lambda x, dense: file.triton_jagged_dense_broadcast_add(n, one.offsets, x, dense)
    return _both(kernels, right, (one.values, dense), g)


# The lock of its backward is given back with no barrier after the store that it guards.
@repository.case(FOLDER + "triton_hstu_attention.py", "_hstu_attn_fwd, _hstu_attn_fwd_one_block, _hstu_attn_bwd, _hstu_attn_bwd_one_block", small=dict(b=2, n=100, h=2, d=32), production=dict(b=64, n=2048, h=4, d=128), rtol=2e-2, atol=2e-3, finds="race-warp-order")  # fmt: skip
def hstu_attention(file, device, b, n, h, d):
    """Attention with silu(q k) / n in place of a softmax; keys of the future are not seen."""
    one = _Jagged(device, b, n, h * d)
    q, k, v, g = (
        tm.normal(one.values.shape[0], h, d, device=device, dtype=torch.bfloat16) for _ in range(4)
    )

    def right(q, k, v):
        parts = []
        for a, c, e in zip(*(x.split(one.lengths) for x in (q, k, v)), strict=True):
            scores = F.silu(torch.einsum("nhd,mhd->hnm", a, c) * d**-0.5) / n
            parts.append(torch.einsum("hnm,mhd->nhd", scores.tril(), e))
        return torch.cat(parts)

    def run():
        leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
        out = file._AttentionFunction.apply(
            n, d**-0.5, *leaves, one.offsets, None, 0, 0, False, False
        )
        return out, *torch.autograd.grad(out, leaves, g)

    return run, lambda: _gradients(right, (q, k, v), g, torch.float64)


@repository.case(FOLDER + "triton_hstu_linear.py", "_ln_mul_dropout_fwd, _ln_mul_dropout_bwd_dx_du, _ln_mul_dropout_bwd_dwdb", **ROWS)  # fmt: skip
def layer_norm_mul(file, device, m, n):
    x, u, w, b, g = (tm.normal(*s, device=device) for s in ((m, n), (m, n), (n,), (n,), (m, n)))
    right = lambda x, u, w, b: u * F.layer_norm(x, (n,), w, b, 1e-5)
    kernels = lambda x, u, w, b: file.triton_norm_mul_dropout(x, u, w, b, 1e-5, 0.0, True)
    return _both(kernels, right, (x, u, w, b), g)


@repository.case(FOLDER + "triton_position.py", "_add_timestamp_position_embeddings_kernel, _add_embeddings_bwd_kernel", small=dict(b=3, n=40, d=64), production=dict(b=128, n=2048, d=256), rtol=1e-4, atol=1e-3)  # fmt: skip
def timestamp_positions(file, device, b, n, d):
    """Adds an embedding of the distance to the end, and one of the square root of the age in minutes."""
    one = _Jagged(device, b, n, d)
    counts = torch.tensor(one.lengths, device=device)
    positions, buckets = tm.normal(2 * n, d, device=device), tm.normal(2049, d, device=device)
    times = torch.cat(
        [(torch.rand(length) * 1e6).long().sort().values for length in one.lengths]
    ).to(device)
    g = tm.normal(*one.values.shape, device=device)

    def right(x, positions, buckets):
        parts = []
        for part, time in zip(one.each(x), times.split(one.lengths), strict=True):
            length = part.shape[0]
            place = (length - torch.arange(length, device=device)).clamp(0, positions.shape[0] - 1)
            age = ((time[-1] - time).float().clamp(min=1e-6) / 60).sqrt().long().clamp(0, 2048)
            parts.append(part + positions[place] + buckets[age])
        return torch.cat(parts)

    def kernels(x, positions, buckets):
        return file._AddTimestampPositionEmbeddingsFunction.apply(
            x, one.offsets, positions, buckets, times, n, 0, counts, None, False, "sqrt"
        )

    return _both(kernels, right, (one.values, positions, buckets), g)
