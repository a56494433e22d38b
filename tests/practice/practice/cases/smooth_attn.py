"""Attention with squares of a smooth ramp in place of exponentials: no maximum is needed."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("NoSelection/smooth-attn", "fa815655f66dee1bb2f95bfdefe1fd6e472d42a2")
FILE = "src/smooth_attn/kernels.py"
BF16 = torch.bfloat16


def _ramp(scores):
    x = 2 * scores - 1
    return ((x + (x * x + 4).sqrt()) / 2).square()


def _attention(q, k, v, window=0, scale=None):
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    y = _ramp(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale))
    rows = torch.arange(q.shape[-2], device=q.device)
    far = rows[:, None] - rows
    y = y.masked_fill((far < 0) | (far >= (window or len(rows))), 0.0)
    return y @ v / y.sum(-1, keepdim=True)


def _inputs(device, b, heads, kv_heads, t, d):
    shapes = ((b, h, t, d) for h in (heads, kv_heads, kv_heads))
    return tuple(tm.normal(*shape, device=device, dtype=BF16) for shape in shapes)


SIZES = dict(
    small=dict(b=1, heads=4, kv_heads=2, t=150, d=64),
    production=dict(b=1, heads=16, kv_heads=4, t=2048, d=64),
)
BACKWARD = ", ".join(
    f"_sp2norm_flash_bwd_{name}" for name in ("precompute_delta", "dq_kernel", "dkv_kernel")
)


@repository.case(
    FILE,
    f"_sp2norm_flash_fwd_with_rowsum_kernel, {BACKWARD}",
    rtol=2e-2,
    atol=2e-2,
    share=1e-3,
    **SIZES,
)
def attention_in_a_window(file, device, **sizes):
    q, k, v = _inputs(device, **sizes)
    up, window = tm.normal(*q.shape, device=device, dtype=BF16), q.shape[2] // 2

    def ours(q, k, v):
        return file.sp2norm_flash_attention(q, k, v, window_size=window)

    return (
        lambda: tm.with_gradients(ours, up, q, k, v),
        lambda: tm.with_gradients(
            lambda q, k, v: _attention(q, k, v, window), up, q, k, v, exact=True
        ),
    )


def _turned(file, device, t, d):
    return file.precompute_rope_cos_sin(d, t, device=device)


@repository.case(FILE, "_sp2norm_rope_flash_fwd_kernel", rtol=2e-2, atol=2e-2, share=1e-3, **SIZES)
def attention_with_rope(file, device, **sizes):
    q, k, v = _inputs(device, **sizes)
    cos, sin = _turned(file, device, sizes["t"], sizes["d"])
    return (
        lambda: file.sp2norm_rope_flash_attention(q, k, v, cos, sin),
        lambda: _attention(tm.rotated(q, cos, sin), tm.rotated(k, cos, sin), v),
    )


# The heads' parts are summed in bfloat16.
@repository.case(
    FILE,
    "_sp2norm_rope_flash_proj_fwd_kernel",
    rtol=3e-2,
    atol=3e-2,
    share=1e-3,
    small=dict(b=1, heads=4, kv_heads=2, t=100, d=64, model=96),
    production=dict(b=1, heads=16, kv_heads=4, t=2048, d=64, model=1024),
)
def attention_with_rope_and_projection(file, device, model, **sizes):
    q, k, v = _inputs(device, **sizes)
    heads, d = sizes["heads"], sizes["d"]
    cos, sin = _turned(file, device, sizes["t"], d)
    weight = tm.normal(heads, d, model, device=device, dtype=BF16, scale=(heads * d) ** -0.5)

    def want():
        out = _attention(tm.rotated(q, cos, sin), tm.rotated(k, cos, sin), v)
        return torch.einsum("bhtd,hdm->btm", out, weight.double())

    return lambda: file.sp2norm_rope_flash_attention_proj(q, k, v, weight, cos, sin), want


@repository.case(FILE, "_sp2norm_fp8_flash_fwd_kernel", rtol=2e-2, atol=2e-2, share=1e-3, **SIZES)
def attention_in_fp8(file, device, **sizes):
    """The reference has the numbers that the fp8 ones stand for."""
    inputs = _inputs(device, **sizes)

    def want():
        parts = []
        for x in inputs:
            scale = x.float().abs().amax() / tm.FP8_MAX
            rounded = (x.float() / scale).clamp(-tm.FP8_MAX, tm.FP8_MAX).to(tm.FP8)
            parts.append(rounded.to(torch.float32).double() * scale.double())
        return _attention(*parts)

    return lambda: file.sp2norm_fp8_flash_attention(*inputs), want


@repository.case(
    FILE,
    "_sp2norm_paged_attention_kernel",
    rtol=2e-2,
    atol=2e-3,
    small=dict(b=3, heads=4, kv_heads=2, most=70, d=64),
    production=dict(b=32, heads=32, kv_heads=8, most=2048, d=128),
)
def paged_decoding(file, device, b, heads, kv_heads, most, d):
    lengths = tm.lengths(b, most)
    pages = -(-most // 16)
    table = torch.randperm(b * pages).view(b, pages).to(torch.int32).to(device)
    q = tm.normal(b, heads, 1, d, device=device, dtype=BF16)
    keys, values = (
        tm.normal(b * pages, kv_heads, 16, d, device=device, dtype=BF16) for _ in range(2)
    )
    sizes = torch.tensor(lengths, dtype=torch.int32).to(device)

    def want():
        out = []
        for i, n in enumerate(lengths):
            k, v = (x[table[i].long()].transpose(0, 1).flatten(1, 2)[:, :n] for x in (keys, values))
            k, v = (x.double().repeat_interleave(heads // kv_heads, 0) for x in (k, v))
            y = _ramp(q[i].double() @ k.mT * d**-0.5)
            out.append((y @ v / y.sum(-1, keepdim=True))[:, 0])
        return torch.stack(out)

    return lambda: file.sp2norm_paged_attention(q, keys, values, table, sizes), want


# How many programs run is by the GPU's properties, which the file asks Triton's driver for.
@repository.case(
    FILE,
    "_winner_squareplus_p2_causal_tiered_fwd, _winner_squareplus_p2_causal_tiered_bwd, _fast_sqrt",
    rtol=1e-4,
    atol=1e-6,
    small=dict(b=1, t=2050),
    production=dict(b=8, t=4096),
)
def causal_rows(file, device, b, t):
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    file._DEVICE_PROP_CACHE[0] = dict(num_sm=processors)
    scores, up = (tm.normal(b, t, t, device=device) for _ in range(2))

    def exact(x):
        y = _ramp(x).tril()
        return y / y.sum(-1, keepdim=True)

    def run():  # the gradient above the diagonal is not stored, in memory that nobody has set
        result, gradient = tm.with_gradients(file.softplus_norm_causal, up, scores)
        return result, gradient.tril()

    return run, lambda: tm.with_gradients(exact, up, scores, exact=True)
