"""AngelSlim: fake quantisation in training, fp8 weights, and which blocks attention needs."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository
from practice.cases.model_optimizer import _fp4

repository = Repository(
    "Tencent/AngelSlim", "67394ce55f6b6cfae702575fbc3c7a05c13fdd74", packages={"angelslim": "."}
)
QUANT = "angelslim/compressor/"
TRAINING = QUANT + "mcore_qad/quant/kernels/"
SPARSE = QUANT + "sparsity/algorithms/"
BF16 = torch.bfloat16


class _Straight(torch.autograd.Function):
    """The gradient of a rounding is that of its argument."""

    @staticmethod
    def forward(ctx, x, rounded):
        return rounded(x)

    @staticmethod
    def backward(ctx, g):
        return g, None


def _rounded(w, scale, most, rounded):
    u = w / scale
    return _Straight.apply(u.clamp(-most, most), rounded) * scale


def _groups(device, m, n, g):
    w, upstream = (tm.normal(*m, n * g, device=device, dtype=BF16) for _ in range(2))
    alpha = (torch.rand(*m, n) * 0.5 + 0.75).to(device)
    return w, upstream, alpha, w.float().unflatten(-1, (-1, g)).abs().amax(-1)


@repository.case(TRAINING + "triton_int4_group.py", "_fwd_kernel, _bwd_kernel, _round_ne", small=dict(m=9, n=5), production=dict(m=2048, n=32), rtol=2e-2, atol=2e-2, share=1e-2)  # fmt: skip
def int4_groups(file, device, m, n):
    w, upstream, alpha, most = _groups(device, (m,), n, 128)

    def right(a):
        x = w.double().unflatten(-1, (-1, 128))
        return _rounded(x, (most.double() / 7 * a)[..., None], 7, torch.round).flatten(-2)

    return (
        lambda: tm.with_gradients(lambda a: file.triton_int4_group(w, a, most / 7, 128, 1.0), upstream, alpha),
        lambda: tm.with_gradients(right, upstream, alpha, exact=True),
    )  # fmt: skip


@repository.case(TRAINING + "triton_nvfp4.py", "_fwd_kernel, _bwd_kernel, _snap_e2m1", small=dict(e=2, m=5, n=6), production=dict(e=4, m=256, n=128), rtol=2e-2, atol=2e-2, share=1e-2)  # fmt: skip
def nvfp4_groups(file, device, e, m, n):
    w, upstream, alpha, most = _groups(device, (e, m), n, 16)
    whole = most.amax((1, 2), keepdim=True) / (6 * 300)

    def right(a):
        x = w.double().unflatten(-1, (-1, 16))
        wide = (most / 6 / whole).double() * a
        scale = _Straight.apply(wide, lambda s: s.float().to(tm.FP8).double()) * whole.double()
        return _rounded(x, scale[..., None], 6, _fp4).flatten(-2)

    return (
        lambda: tm.with_gradients(lambda a: file.triton_nvfp4(w, a, most / 6 / whole, whole, 16, 1.0), upstream, alpha),
        lambda: tm.with_gradients(right, upstream, alpha, exact=True),
    )  # fmt: skip


def _tiles(x):
    m, n = (-(-size // 128) for size in x.shape)
    padded = torch.nn.functional.pad(x, (0, n * 128 - x.shape[1], 0, m * 128 - x.shape[0]))
    return padded.unflatten(0, (m, 128)).unflatten(2, (n, 128)).abs().amax((1, 3))


WEIGHTS = dict(small=dict(m=150, n=200), production=dict(m=8192, n=8192))


def _scaled(x, scales):
    wide = scales.repeat_interleave(128, 0).repeat_interleave(128, 1)
    return (x.double() / wide[: x.shape[0], : x.shape[1]]).clamp(-448, 448)


@repository.case(QUANT + "diffusion/kernels/python/quantizers/fp8_per_block.py", "_fp8_per_block_quant_kernel", **WEIGHTS, rtol=7e-2, atol=1e-2)  # fmt: skip
def fp8_blocks(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)
    scales = _tiles(x.double()) / 448
    return lambda: file.fp8_per_block_quant_triton(x), lambda: (_scaled(x, scales), scales)


@repository.case(QUANT + "quant/core/kernels.py", "compute_scale_kernel, standard_weight_quant_kernel, weight_quant_with_custom_scale_kernel", **WEIGHTS, rtol=7e-2, atol=1e-2)  # fmt: skip
def fp8_weights(file, device, m, n):
    x = tm.normal(m, n, device=device)
    scales = _tiles(x.double()) / 448
    twice = scales.float() * 2

    def run():
        kernel = file.create_quant_kernel(file.FP8_E4M3_SCHEME)
        parts = kernel.quantize_with_scale_compute(x)
        return *parts, kernel.compute_scale(x), kernel.quantize(x, twice)

    return run, lambda: (_scaled(x, scales), scales, scales, _scaled(x, twice.double()))


BLOCKS = dict(small=dict(b=1, h=2, n=512, d=32), production=dict(b=1, h=32, n=16384, d=128))


@repository.case(SPARSE + "stem/ops/stem_kernel.py", "flat_group_gemm_fuse_reshape_kernel", **BLOCKS, rtol=1e-2, atol=1e-1)  # fmt: skip
def strided_scores(file, device, b, h, n, d):
    q, k = (tm.normal(b, h, n, d, device=device, dtype=BF16) for _ in range(2))

    def want():
        parts = [x.double().unflatten(2, (-1, 4)) for x in (q, k)]
        return parts[0].flip(3).flatten(3) @ parts[1].flatten(3).mT

    return lambda: file.flat_group_gemm_fuse_reshape(q, k, 4, 0, n // 4, is_causal=False), want


@repository.case(SPARSE + "cosa/ops/proxy.py", "_fused_cosa_proxy_kernel", small=dict(b=1, h=2, n=64), production=dict(b=1, h=32, n=4096), rtol=1e-2, atol=1e-3)  # fmt: skip
def block_scores(file, device, b, h, n):
    """How much of a block's attention each block has at most, and whether it has a row's most."""
    block = 16 if n < 1024 else 32
    x = tm.normal(b, h, n, n, device=device, scale=2.0)

    def want():
        rows = torch.arange(n, device=device)
        s = (x.double() * 1.25).masked_fill(rows > rows[:, None], -1e6)
        most = s.unflatten(-1, (-1, block)).amax(-1)
        part = (most - s.amax(-1, keepdim=True)).exp2().unflatten(2, (-1, block))
        seen = torch.arange(n // block, device=device)
        later = (seen > seen[:, None]).to(torch.float64)
        return part.sum(3) * (1 - later), (part >= 0.999).any(3).double() * (1 - later)

    return lambda: file.fused_cosa_proxy(x, block, 2 * block, 0, n, n, 1.25), want


def _columns(name, kernels, gap):
    @repository.case(SPARSE + "vecattention/ops/vecattention_kernel.py", kernels, small=dict(b=1, h=2, n=512, d=32), production=dict(b=1, h=32, n=32768, d=128), share=2e-2, name=name)  # fmt: skip
    def build(file, device, b, h, n, d):
        """Which keys a block of queries needs: atomics say where their numbers go."""
        blocks = n // 128
        q, k = (tm.normal(b, h, x, d, device=device, dtype=BF16) for x in (blocks, n))
        gaps = 1.5 if gap is None else (torch.rand(b, h) + 1).to(device)

        def run():
            count, index = file.fuse_qk_softmax_minp_wo_causal(q, k, 0, gaps)
            taken = torch.arange(index.shape[-1], device=device) < count[..., None]
            if device == "cpu" and not taken.any():
                return taken
            places = torch.where(taken, index, n).long()
            return torch.zeros(b, h, blocks, n + 1, device=device).scatter(-1, places, 1.0)[..., :n]

        def want():
            s = (q.float() * d**-0.5).to(BF16).double() @ k.double().mT
            parts = s.unflatten(-1, (-1, 128))
            wide = gaps if gap is None else gaps.double()[..., None, None, None]
            near = parts + wide >= parts.amax(-1, keepdim=True)
            seen = torch.arange(blocks, device=device)
            return (near & (seen[:, None] > seen)[..., None]).flatten(-2)

        return run, want


_columns("columns", "_causal_fuse_qk_cutoff_wo_causal_kernel", None)
_columns("columns_by_head", "_causal_fuse_qk_cutoff_wo_causal_perHead_kernel", "each")


@repository.case(SPARSE + "vecattention/ops/vecattention_kernel.py", "bnhd_pool_kernel", small=dict(b=2, n=150, h=3, d=32), production=dict(b=1, n=32768, h=16, d=128), atol=1e-5)  # fmt: skip
def pool(file, device, b, n, h, d):
    x = tm.normal(b, n, h, d, device=device)

    def want():
        parts = x.double().split(64, 1)
        return [torch.stack([f(part) for part in parts], 1) for f in (lambda p: p.mean(1), lambda p: p.abs().amax(1))]  # fmt: skip

    return lambda: [file.triton_bnhd_pool(x, 64, kind) for kind in ("avg", "maxabs")], want
