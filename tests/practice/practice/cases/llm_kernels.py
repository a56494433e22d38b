"""triton-llm-kernels: RMS norm, RoPE and SwiGLU with their gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Anetisa/triton-llm-kernels", "42b3cde201ae73adf265dc29819e70543275350d")
PLACE = "src/triton_llm_kernels/"
HALF = dict(rtol=1e-2, atol=2e-2)
ROWS = dict(small=dict(m=9, n=300), production=dict(m=8192, n=4096))


def _inputs(device, *shapes):
    return [tm.normal(*shape, device=device, dtype=torch.bfloat16) for shape in shapes]


@repository.case(f"{PLACE}rmsnorm.py", "_rmsnorm_fwd_kernel, _rmsnorm_bwd_kernel", **ROWS, rtol=2e-2, atol=3e-2, share=0.001)  # fmt: skip
def rms_norm(file, device, m, n):
    x, w, up = _inputs(device, (m, n), (n,), (m, n))
    return (
        lambda: tm.with_gradients(file.rmsnorm, up, x, w),
        lambda: tm.with_gradients(lambda x, w: tm.rms_norm(x, w, 1e-6), up, x, w, exact=True),
    )


@repository.case(f"{PLACE}rope.py", "_rope_fwd_kernel, _rope_bwd_kernel", small=dict(b=2, n=5, h=3, d=32), production=dict(b=2, n=4096, h=32, d=128), **HALF)  # fmt: skip
def rope(file, device, b, n, h, d):
    x, up = _inputs(device, (b, n, h, d), (b, n, h, d))
    cos, sin = file.build_rope_cache(n, d, device=device)
    halves = [t[:, None, : d // 2] for t in (cos, sin)]
    return (
        lambda: tm.with_gradients(lambda x: file.rope(x, cos, sin), up, x),
        lambda: tm.with_gradients(lambda x: tm.rotated(x, *halves), up, x, exact=True),
    )


@repository.case(f"{PLACE}swiglu.py", "_swiglu_fwd_kernel, _swiglu_bwd_kernel", **ROWS, **HALF)
def swiglu(file, device, m, n):
    gate, up, grad = _inputs(device, (m, n), (m, n), (m, n))
    return (
        lambda: tm.with_gradients(file.swiglu, grad, gate, up),
        lambda: tm.with_gradients(lambda a, b: F.silu(a) * b, grad, gate, up, exact=True),
    )
