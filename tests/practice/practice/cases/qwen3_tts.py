"""qwen3-tts-triton: a rotated cache in 3 and 4 bits, norms with a residual, RoPE in three parts."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("newgrit1004/qwen3-tts-triton", "c64873e6a792d4dabc7ae592933fefd740ff4d5f", packages={"qwen3_tts_triton": "src"}, stand_ins={"scipy.stats": {"norm": None}})  # fmt: skip
PLACE = "src/qwen3_tts_triton/kernels/"
BF16 = torch.bfloat16
HALF = dict(rtol=1e-2, atol=1e-2)
ROWS = dict(small=dict(m=5, n=300), production=dict(m=8192, n=2048))
CACHE = dict(small=dict(b=2, h=2, n=5, d=64), production=dict(b=4, h=8, n=2048, d=128))


def _rotations(h, d, device):
    return torch.linalg.qr(torch.randn(h, d, d)).Q.contiguous().to(device)


for _bits, _kernel in ((3, "_fused_dequant_3bit_kernel"), (4, "_fused_dequant_4bit_kernel")):

    @repository.case(f"{PLACE}fused_dequant.py", _kernel, **CACHE, **HALF, name=f"dequantised_{_bits}_bits")  # fmt: skip
    def dequantised(file, device, b, h, n, d, bits=_bits):
        turns = _rotations(h, d, device)
        values = torch.randint(1 << bits, (b, h, n, d))
        levels = torch.randn(1 << bits).sort().values.to(device)
        scales = torch.rand(b, h, n, 1).to(device)
        group = values.unflatten(-1, (-1, 8 if bits == 3 else 2))
        word = sum(group[..., i] << (bits * (group.shape[-1] - 1 - i)) for i in range(group.shape[-1]))  # fmt: skip
        size = bits * group.shape[-1] // 8
        packed = torch.stack([(word >> (8 * i)) & 255 for i in reversed(range(size))], -1)
        packed = packed.flatten(-2).to(torch.uint8).to(device)
        return (
            lambda: file.triton_fused_dequant(packed, scales, turns, levels, d, bits),
            lambda: levels[values.to(device)].double() @ turns.double() * scales * d**-0.5,
        )


# Where a turned value is near a boundary the sum's order decides.
@repository.case(f"{PLACE}fused_dequant.py", "_fused_quant_kernel", **CACHE, **HALF, share=0.002)
def quantised(file, device, b, h, n, d):
    x = tm.normal(b, h, n, d, device=device, dtype=BF16)
    turns = _rotations(h, d, device)
    bounds = torch.linspace(-2, 2, 15, device=device)

    def want():
        norm = x.double().norm(dim=-1, keepdim=True)
        turned = x.double() / norm @ turns.double().mT * d**0.5
        index = (turned[..., None] > bounds.double()).sum(-1)
        return index[..., ::2] * 16 + index[..., 1::2], norm

    return lambda: file.triton_fused_quant(x, turns, bounds, 4), want


@repository.case(f"{PLACE}fused_norm_residual.py", "_fused_add_rms_norm_forward_kernel", **ROWS, **HALF)  # fmt: skip
def add_rms_norm(file, device, m, n):
    x, y = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
    w, s = tm.normal(n, device=device, dtype=BF16), x.double() + y.double()
    return lambda: file.triton_fused_add_rms_norm(x, y, w), lambda: (tm.rms_norm(s, w, 1e-6), s)


@repository.case(f"{PLACE}rms_norm.py", "_rms_norm_forward_kernel", **ROWS, **HALF)
def rms_norm(file, device, m, n):
    x, w = tm.normal(m, n, device=device, dtype=BF16), tm.normal(n, device=device, dtype=BF16)
    return lambda: file.triton_rms_norm(x, w), lambda: tm.rms_norm(x, w, 1e-6)


@repository.case(f"{PLACE}rope.py", "_triton_mrope_kernel", small=dict(b=2, n=5, hq=3, hk=2, d=32, parts=(6, 5, 5)), production=dict(b=4, n=4096, hq=16, hk=8, d=128, parts=(24, 20, 20)), **HALF)  # fmt: skip
def rope(file, device, b, n, hq, hk, d, parts):
    q, k = (tm.normal(b, h, n, d, device=device, dtype=BF16) for h in (hq, hk))
    angles = torch.rand(3, b, n, d // 2).to(device) * 6
    cos, sin = (f(angles).repeat(1, 1, 1, 2) for f in (torch.cos, torch.sin))
    taken = torch.cat([a[i] for i, a in enumerate(angles.split(parts, -1))], -1)[:, None]
    return (
        lambda: file.triton_mrope_forward(q, k, cos, sin, list(parts)),
        lambda: [tm.rotated(x, taken.cos(), taken.sin(), interleaved=True) for x in (q, k)],
    )


@repository.case(f"{PLACE}swiglu.py", "_swiglu_forward_kernel", **ROWS, **HALF)
def swiglu(file, device, m, n):
    gate, up = (tm.normal(m, n, device=device, dtype=BF16) for _ in range(2))
    return (
        lambda: file.triton_swiglu_forward(gate, up),
        lambda: F.silu(gate.double()) * up.double(),
    )
