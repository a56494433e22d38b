"""cuda-triton-kernels-lab: int8 products, RMS norms after a sum and rotations of a part."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "akshay919191/cuda-triton-kernels-lab", "4f6ae427d2ed4e7beb15cc83beeece11926abdc8"
)
F16 = torch.float16


@repository.case("kernels/triton/matmul/int8_quant.py", "int8_matmul", rtol=1e-3, atol=1e-3, small=dict(b=1, h=2, m=70, n=50, k=90), production=dict(b=2, h=4, m=2048, n=2048, k=2048))  # fmt: skip
def int8_matmul(file, device, b, h, m, n, k):
    x, y = (tm.normal(b, h, *s, device=device, dtype=torch.float32) for s in ((m, k), (k, n)))

    def want():
        (xq, xs), (yq, ys) = file.quantize_int8(x), file.quantize_int8(y)
        return xq.double() @ yq.double() * xs.double() * ys.double()

    return lambda: file.triton_int8_matmul(x, y), want


@repository.case("kernels/triton/fused_residual_rmsnorm_kernel/fused_rmsnorm_kernel.py", "fused_rmsnorm_fwd, fused_rmsnorm_bwd_dx, fused_rmsnorm_bwd_dgamma", rtol=1e-2, atol=1e-2, small=dict(m=9, n=200), production=dict(m=4096, n=4096))  # fmt: skip
def residual_rms_norm(file, device, m, n):
    x, residual, up = (tm.normal(m, n, device=device, dtype=F16) for _ in range(3))
    weight = torch.rand(n).to(device) + 0.5
    inputs = x, residual, weight

    def right(x, residual, weight):
        return tm.rms_norm(x + residual, weight, 1e-5)

    return (
        lambda: tm.with_gradients(file.FusedRMSNormFunction.apply, up, *inputs),
        lambda: tm.with_gradients(right, up.double(), *inputs, exact=True),
    )


@repository.case("kernels/triton/rope_kernel/rope_kernel.py", "sincos_cache_kernel, rope_kernel", rtol=1e-2, atol=1e-2, small=dict(b=2, h=2, n=40, d=32, turned=16), production=dict(b=4, h=32, n=4096, d=128, turned=64))  # fmt: skip
def partial_rotation(file, device, b, h, n, d, turned):
    x, up = (tm.normal(b, h, n, d, device=device, dtype=F16) for _ in range(2))
    positions = tm.integers(0, 2 * n, b, n, device=device)

    def function(x):
        caches = file.build_rope_cache(2 * n, turned, device=device)
        return file.RoPEFunction.apply(x, *caches, positions, turned, 0)

    def right(x):
        frequency = 10000.0 ** (-torch.arange(turned // 2, device=device).double() * 2 / turned)
        angle = positions.double()[:, None, :, None] * frequency
        rotated = tm.rotated(x[..., :turned], angle.cos(), angle.sin())
        return torch.cat([rotated, x[..., turned:].double()], -1)

    return (
        lambda: tm.with_gradients(function, up, x),
        lambda: tm.with_gradients(right, up.double(), x, exact=True),
    )
