"""FastVideo: kernels of sparse video attention, and fp4 as quantisation-aware training sees it."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("hao-ai-lab/FastVideo", "2f3d4074064e4d86f99dc784ebbaa296e6f5925f", packages={"fastvideo_kernel": "fastvideo-kernel/python", "fastvideo": "."})  # fmt: skip
KERNELS = "fastvideo-kernel/python/fastvideo_kernel/triton_kernels/"
H3 = "fastvideo/models/dits/minimax_h3_fusions/"
BF16, I32 = torch.bfloat16, torch.int32


@repository.case(f"{KERNELS}index.py", "map_to_index_kernel, _invert_indices_kernel", small=dict(b=2, h=2, q=9, kv=7), production=dict(b=2, h=24, q=256, kv=256))  # fmt: skip
def block_indices(file, device, b, h, q, kv):
    map_ = (torch.rand(b, h, q, kv) < 0.4).to(device)

    def run():
        index, count = file.map_to_index(map_)
        inverse, counts = file.invert_indices(index, count, kv)
        inside = torch.arange(q, device=device) < counts[..., None]  # in any order, the rest unset
        return index, count, torch.where(inside, inverse, q).sort(-1).values, counts

    def listed(given):
        size = given.shape[-1]
        return torch.where(given, torch.arange(size), size).sort(-1).values

    def want():
        given = map_.cpu()
        index = listed(given)
        return torch.where(index < kv, index, -1), given.sum(-1), listed(given.mT), given.sum(-2)

    return run, want


@repository.case(f"{KERNELS}fused_compress_topk.py", "_fused_block_mean_kernel, _fused_block_mean_bwd_kernel", small=dict(b=1, h=2, n=5, d=64), production=dict(b=1, h=24, n=512, d=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def block_mean(file, device, b, h, n, d):
    x, up = tm.normal(b, h, n * 64, d, device=device, dtype=BF16), tm.normal(b, h, n, d, device=device, dtype=BF16)  # fmt: skip
    sizes = tm.integers(32, 65, n, device=device, dtype=I32)

    def exact(x):
        return x.unflatten(2, (n, 64)).sum(3) / sizes.cpu().double()[:, None]

    return (
        lambda: tm.with_gradients(lambda x: file.fused_block_mean(x, sizes, 64), up, x),
        lambda: tm.with_gradients(exact, up.cpu(), x.cpu(), exact=True),
    )


@repository.case(f"{KERNELS}fused_compress_topk.py", "_fused_topk_mask_kernel", small=dict(b=1, h=2, q=6, kv=50, k=9), production=dict(b=1, h=24, q=512, kv=512, k=64))  # fmt: skip
def top_k_mask(file, device, b, h, q, kv, k):
    scores = tm.normal(b, h, q, kv, device=device, dtype=BF16)

    def want():
        x = scores.cpu().double() - torch.arange(kv) * 1e-9  # of equal ones the first
        return torch.zeros_like(x).scatter(-1, x.topk(k).indices, 1.0)

    return lambda: file.fused_topk_mask(scores, k), want


def _fp4(x, block):
    """By the largest of a block of rows, then of 16 elements, to the nearest of e2m1."""
    rows = x.shape[-2]
    x = F.pad(x.cpu().double(), (0, 0, 0, -rows % block)).unflatten(-2, (-1, block))
    outer = x.abs().amax((-2, -1), keepdim=True)[..., None] / (6 * 448)
    x = x.unflatten(-1, (-1, 16))
    inner = (x.abs().amax(-1, keepdim=True) / 6 / outer).float().to(tm.FP8).double() * outer
    levels = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], dtype=torch.float64)
    y = x / inner
    near = levels[(y.abs()[..., None] - levels).abs().argmin(-1)] * y.sign()
    return (near * inner).flatten(-2).flatten(-3, -2)[..., :rows, :]


@repository.case(f"{KERNELS}quant_utils.py", "fake_quantize_q, fake_quantize_kv", small=dict(b=1, h=2, n=100, d=64), production=dict(b=2, h=16, n=4096, d=128), rtol=2e-2, atol=2e-2, share=0.01)  # fmt: skip
def fake_fp4(file, device, b, h, n, d):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=BF16) for _ in range(3))

    def run():
        made = [torch.empty_like(x) for x in (q, k, v)]
        grid, strides = (-(-n // 64), b * h), (*q.stride(), *q.stride())
        file.fake_quantize_q[grid](q, made[0], *strides, h, n, 64, d)
        file.fake_quantize_kv[grid](k, v, *made[1:], *strides, h, n, 64, d)
        return made

    return run, lambda: [_fp4(x, 64) for x in (q, k, v)]


@repository.case(f"{H3}qknorm_rope.py", "_qknorm_partial_rope_kernel", small=dict(b=2, s=9, h=3, d=48, r=32), production=dict(b=1, s=8192, h=56, d=128, r=96), rtol=1e-3, atol=1e-3)  # fmt: skip
def norm_rope(file, device, b, s, h, d, r):
    x, weight = tm.normal(b, s, h, d, device=device), tm.normal(d, device=device)
    cos, sin = (torch.cat([t, t], -1).to(device) for t in torch.rand(2, s, r // 2))

    def want():
        y = tm.rms_norm(x.cpu(), weight.cpu(), 1e-6)
        halves = (t.cpu()[:, None, : r // 2] for t in (cos, sin))
        return torch.cat([tm.rotated(y[..., :r], *halves), y[..., r:]], -1)

    return lambda: file.fused_qknorm_rope(x, weight, cos, sin, 1e-6), want


@repository.case(f"{H3}swiglu.py", "_minimax_h3_swiglu_kernel", small=dict(m=20, n=100), production=dict(m=8192, n=8192), rtol=1e-4)  # fmt: skip
def swiglu(file, device, m, n):
    x = tm.normal(m, 2 * n, device=device)

    def want():
        value, gate = x.double().chunk(2, -1)
        return value * F.silu(gate)

    return lambda: file.minimax_h3_swiglu(x), want
