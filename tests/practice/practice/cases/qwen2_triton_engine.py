"""Qwen2-7B-Triton_Engine: weights of 4 bits in AWQ's order, attention, and what is between them."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("songqiuyu/Qwen2-7B-Triton_Engine", "7e984ae5d36ad61d5218d52a106a53ff8faf2777")  # fmt: skip
HALF = torch.float16
ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
CLOSE = dict(rtol=1e-2, atol=2e-2)


def _weights(k, n, device):
    """In the layout of AWQ, and in float64."""
    codes = tm.integers(0, 16, k, n, device=device)
    zeros = tm.integers(0, 16, k // 128, n, device=device)
    scales = ((torch.rand(k // 128, n) + 0.5) / 8).to(HALF).to(device)
    parts = [x.repeat_interleave(128, 0) for x in (zeros, scales)]
    exact = (codes - parts[0]) * parts[1].double()
    return (tm.packed_int4(codes, ORDER), tm.packed_int4(zeros, ORDER), scales), exact


@repository.case("kernels/awq_gemm.py", "_awq_gemm_kernel", small=dict(m=20, n=64, k=256), production=dict(m=256, n=3584, k=3584), **CLOSE)  # fmt: skip
def product_awq(file, device, m, n, k):
    packed, exact = _weights(k, n, device)
    x = tm.normal(m, k, device=device, dtype=HALF) / k**0.5
    return lambda: file.awq_gemm_forward(x, *packed), lambda: x.double() @ exact


@repository.case("kernels/awq_gemm.py", "_awq_gemv_kernel", small=dict(m=2, n=64, k=256), production=dict(m=4, n=18944, k=3584), **CLOSE)  # fmt: skip
def vector_awq(file, device, m, n, k):
    packed, exact = _weights(k, n, device)
    x = tm.normal(m, k, device=device, dtype=HALF) / k**0.5

    def run():
        out = torch.empty(m, n, dtype=HALF, device=device)
        strides = [s for t in (x, *packed, out) for s in t.stride()]
        file._awq_gemv_kernel[(-(-n // 64), m)](x, *packed, out, m, n, k, *strides, group_size=128, BLOCK_N=64, BLOCK_K=64)  # fmt: skip
        return out

    return run, lambda: x.double() @ exact


@repository.case("kernels/awq_gemm.py", "_dequant_awq_kernel", small=dict(n=72, k=256), production=dict(n=18944, k=3584), rtol=2e-3)  # fmt: skip
def dequantised_awq(file, device, n, k):
    packed, exact = _weights(k, n, device)
    out = torch.empty(k, n, dtype=HALF, device=device)
    return lambda: file._dequant_to_fp16(*packed, out), lambda: exact


@repository.case("kernels/flash_attention.py", "_flash_attn_fwd_kernel", small=dict(b=2, h=2, n=100, d=64), production=dict(b=2, h=28, n=4096, d=128), **CLOSE)  # fmt: skip
def prefill(file, device, b, h, n, d):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=HALF) for _ in range(3))
    return (
        lambda: file.flash_attention_forward(q, k, v, is_causal=True),
        lambda: tm.attention(q, k, v, causal=True)[0],
    )


@repository.case("kernels/flash_attention.py", "_flash_decoding_stage1, _flash_decoding_stage2", small=dict(b=2, h=4, hk=2, n=150, d=64), production=dict(b=16, h=28, hk=4, n=8192, d=128), **CLOSE)  # fmt: skip
def decode(file, device, b, h, hk, n, d):
    q = tm.normal(b, h, 1, d, device=device, dtype=HALF)
    k, v = (tm.normal(b, hk, n, d, device=device, dtype=HALF) for _ in range(2))
    return lambda: file.flash_attention_forward(q, k, v), lambda: tm.attention(q, k, v)[0]


@repository.case("kernels/fused_add_rmsnorm.py", "_fused_add_rmsnorm_kernel", small=dict(m=5, n=200), production=dict(m=8192, n=3584), **CLOSE)  # fmt: skip
def add_and_norm(file, device, m, n):
    old, x = (tm.normal(m, n, device=device, dtype=HALF) for _ in range(2))
    weight = tm.normal(n, device=device, dtype=HALF)

    def run():
        residual = old.clone()
        return file.fused_add_rmsnorm_forward(residual, x, weight), residual

    def want():
        both = old.double() + x.double()
        return tm.rms_norm(both, weight, 1e-6), both

    return run, want


# The rotated half of a head is loaded by other warps than those that store it, with no barrier.
@repository.case("kernels/rope.py", "_rope_forward_kernel", small=dict(t=6, h=4, hk=2, d=32), production=dict(t=8192, h=28, hk=4, d=128), finds="race-warp-order", **CLOSE)  # fmt: skip
def rope(file, device, t, h, hk, d):
    old = [tm.normal(t, heads, d, device=device, dtype=HALF) for heads in (h, hk)]
    positions = torch.arange(t).flip(0).to(device)
    cos, sin = file.precompute_freqs_cis(d, t, device=device)

    def run():
        q, k = (x.clone() for x in old)
        return file.apply_rope_inplace(q, k, cos, sin, positions)

    def want():
        halves = [x[positions, None, : d // 2] for x in (cos, sin)]
        return [tm.rotated(x, *halves) for x in old]

    return run, want
