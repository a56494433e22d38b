"""PhysicsNeMo's HealDA: attention of pixels to observations, FiLM of tokens, features of sensors."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "NVIDIA/physicsnemo",
    "94b355108cfd10e253d3d41cacdc0c0112b078e4",
    packages={"physicsnemo": "."},
    stand_ins={"jaxtyping": {}, "packaging.utils": {}, "packaging.version": {}},
)
MODELS = "physicsnemo/experimental/models/healda/kernels/"
BF16 = torch.bfloat16


@repository.case("physicsnemo/experimental/datapipes/healda/transforms/obs_features.py", "_metadata_kernel, _fourier_store", small=dict(n=300), production=dict(n=1 << 22), rtol=1e-3, atol=1e-4)  # fmt: skip
def features(file, device, n):
    """NaN where a sensor has no such value."""

    def some(low, high):
        x = torch.rand(n) * (high - low) + low
        return x.masked_fill(torch.rand(n) < 0.3, float("nan")).to(device)

    target = tm.integers(1_600_000_000, 1_700_000_000, n, device=device)
    time = target * 1_000_000_000 + tm.integers(-(10**13), 10**13, n, device=device)
    lon = (torch.rand(n) * 360).to(device)
    height, pressure = some(0, 60000), some(0, 1100)
    scan, sat, sun = some(-50, 50), some(0, 90), some(0, 90)

    def waves(x, count):
        angles = x[:, None] * torch.arange(1, count + 1, device=device) * 2 * math.pi
        return [angles.sin(), angles.cos()]

    def want():
        clock = ((time // 10**9) % 86400).double() / 3600 + lon.double() / 15
        days = (time - target * 10**9).double() * 1e-9 / 86400
        x, cos = scan.double() / 50, torch.deg2rad(sat.double()).cos()
        angle = torch.deg2rad(sun.double())
        parts = [
            *waves(clock % 24 / 24, 2), days[:, None], days[:, None] ** 2,
            *waves(height.double() / 60000, 4), *waves(pressure.double() / 1100, 4),
            *(y[:, None] for y in (x, x * x, cos, cos * cos, angle.cos(), angle.sin())),
        ]  # fmt: skip
        return torch.cat(parts, -1).nan_to_num(0.0)

    return (
        lambda: file.compute_unified_metadata(target, time, lon, height, pressure, scan, sat, sun),
        want,
    )


def _pixels(device, n, heads, d, tokens):
    lengths = torch.randint(0, tokens, (n,))
    lengths[0] = tokens
    q = tm.normal(n, heads * 16, d, device=device, dtype=BF16)
    x = tm.normal(int(lengths.sum()), 32, device=device, dtype=BF16)
    weights = [tm.normal(heads * d, 32, device=device, dtype=BF16, scale=0.2) for _ in range(2)]
    ends = tm.starts(lengths.tolist(), device)

    def right(q, x, wk, wv):
        """With a bound for the lengths, one matrix of tokens for all pixels."""
        places = ends[:-1, None].long() + torch.arange(tokens, device=device)
        inside = torch.arange(tokens, device=device) < lengths.to(device)[:, None]
        rows = x[places.clamp(max=len(x) - 1)]
        k, v = ((rows @ w.mT).unflatten(-1, (heads, d)).transpose(1, 2) for w in (wk, wv))
        s = q.unflatten(1, (heads, 16)) @ k.mT * d**-0.5
        s = s.masked_fill(~inside[:, None, None], -1e30)
        p = s.softmax(-1) * inside[:, None, None]
        return (p @ v).flatten(1, 2)

    return q, x, *weights, ends, right


@repository.case(MODELS + "pixel_attention.py", "_pixel_attn_gqa_fwd, _gqa_fwd_head, _pixel_attn_gqa_bwd, _gqa_bwd_head", small=dict(n=9, heads=2, d=32, tokens=70), production=dict(n=8192, heads=2, d=32, tokens=128), rtol=5e-2, atol=1e-1, share=1e-3)  # fmt: skip
def pixel_attention(file, device, n, heads, d, tokens):
    q, x, wk, wv, ends, right = _pixels(device, n, heads, d, tokens)
    g = tm.normal(*q.shape, device=device, dtype=BF16)

    def attend(q, x, wk, wv):
        return file.pixel_attention(q, x, wk, wv, ends, tokens, heads)

    return (
        lambda: tm.with_gradients(attend, g, q, x, wk, wv),
        lambda: tm.with_gradients(right, g, q, x, wk, wv, exact=True),
    )


@repository.case(MODELS + "pixel_attention.py", "_counting_sort_scatter", small=dict(n=3000, pixels=50), production=dict(n=1 << 24, pixels=49152))  # fmt: skip
def counting_sort(file, device, n, pixels):
    """Each place is given by an atomic; keys of what lies there are compared."""
    keys = tm.integers(0, pixels, n, device=device, dtype=torch.int32)

    def run():
        order, counts = file.counting_sort_and_pack(keys, pixels)
        if device == "cpu" and int(order.max()) >= n:
            return order, order, counts
        return keys[order.long()], order.sort()[0], counts

    def want():
        counts = torch.bincount(keys.long(), minlength=pixels)
        return keys.sort()[0], torch.arange(n, device=device), counts

    return run, want


@repository.case(MODELS + "obs_tokenizer_film.py", "_fused_film_fwd, _fwd_layernorm_silu, _fused_film_bwd", small=dict(n=100, d=16), production=dict(n=1 << 18, d=32), rtol=2e-2, atol=5e-2, share=1e-3)  # fmt: skip
def film(file, device, n, d):
    obs, meta = tm.normal(n, device=device), tm.normal(n, 28, device=device)
    ids = [tm.integers(0, size, n, device=device) for size in (5, 40, 7)]
    tables = [tm.normal(size, 8, device=device, scale=0.5) for size in (5, 40, 7)]
    shapes = (52, 64), (64,), (64,), (64,), (64, 2 * d), (2 * d,)
    rest = [tm.normal(*shape, device=device, scale=0.2) for shape in shapes]
    g = tm.normal(n, d, device=device)

    def right(*weights):
        *own, w1, b1, scale, shift, w2, b2 = weights
        rows = [table[i] for table, i in zip(own, ids, strict=True)]
        h = torch.cat([meta.to(w1), *rows], -1) @ w1 + b1
        h = torch.nn.functional.layer_norm(h, (64,), scale, shift, 1e-5)
        alpha, beta = (torch.nn.functional.silu(h) @ w2 + b2).chunk(2, -1)
        return alpha * obs.to(w1)[:, None] + beta

    def run(*weights):
        return file.fused_film_fwd(obs, meta, *ids, *weights, 1e-5, 28, 8, 8, 8, d, True)

    return (
        lambda: tm.with_gradients(run, g, *tables, *rest),
        lambda: tm.with_gradients(right, g, *tables, *rest, exact=True),
    )
