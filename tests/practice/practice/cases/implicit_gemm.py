"""implicit_gemm.triton: convolutions of images and volumes as products of matrices that are never
made, with channels last, and an RMS norm whose gradients are sums over rows and over columns."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import PYTEST, Repository

repository = Repository("l1351868270/implicit_gemm.triton", "b19c43fb5219c4bac5b0f5f6b1d98e280e07dcc4", stand_ins=PYTEST)  # fmt: skip
HALF = torch.float16


@repository.case("triton_implicit_gemm.py", "conv2d_kernel", small=dict(n=1, c=20, h=9, w=12, k=24, stride=2, dilation=1), production=dict(n=32, c=128, h=56, w=56, k=256, stride=1, dilation=1), rtol=1e-2, atol=1e-2)  # fmt: skip
def convolution_2d(file, device, n, c, h, w, k, stride, dilation):
    x = tm.normal(n, h, w, c, device=device, dtype=HALF)
    weight = tm.normal(k, 3, 3, c, device=device, dtype=HALF, scale=(9 * c) ** -0.5)
    pad = dilation
    p, q = ((size + 2 * pad - 2 * dilation - 1) // stride + 1 for size in (h, w))

    def run():
        y = torch.empty(n, p, q, k, device=device, dtype=HALF)
        m = n * p * q
        file.conv2d_kernel[
            lambda meta: (-(-m // meta["BLOCK_SIZE_M"]) * -(-k // meta["BLOCK_SIZE_N"]),)
        ](
            x, weight, y, n, c, h, w, k, p, q, 3, 3, stride, stride, pad, pad, dilation, dilation,
            m, k, 9 * c,
        )  # fmt: skip
        return y

    def want():
        images, kernels = (t.double().permute(0, 3, 1, 2) for t in (x, weight))
        return F.conv2d(images, kernels, None, stride, pad, dilation).permute(0, 2, 3, 1)

    return run, want


# Rows behind the end are taken from the beginning by `% GEMM_M`, also where they are stored.
@repository.case("triton_conv3d.py", "conv3d_kernel", small=dict(n=1, c=16, size=6, k=20, dilation=2), production=dict(n=2, c=64, size=32, k=128, dilation=1), rtol=1e-2, atol=1e-2, finds="race-same-value")  # fmt: skip
def convolution_3d(file, device, n, c, size, k, dilation):
    x = tm.normal(n, size, size + 1, size + 2, c, device=device, dtype=HALF)
    weight = tm.normal(k, 3, 3, 3, c, device=device, dtype=HALF, scale=(27 * c) ** -0.5)
    pad = dilation

    def run():
        return file.triton_conv3d(x, weight, (1,) * 3, (pad,) * 3, (dilation,) * 3)

    def want():
        volumes, kernels = (t.double().permute(0, 4, 1, 2, 3) for t in (x, weight))
        return F.conv3d(volumes, kernels, None, 1, pad, dilation).permute(0, 2, 3, 4, 1)

    return run, want


@repository.case("triton_kernel/rmsnorm.py", "_ld_rms_norm_fwd_kernel, _ld_rms_norm_x_bwd_kernel, _ld_rms_norm_weight_bwd_kernel", small=dict(m=50, n=100), production=dict(m=4096, n=2048), rtol=1e-3, atol=1e-3)  # fmt: skip
def rms_norm_and_gradients(file, device, m, n):
    x, upstream = (tm.normal(m, n, device=device) for _ in range(2))
    weight = tm.normal(n, device=device)
    return (
        lambda: tm.with_gradients(file._ld_rms_norm.apply, upstream, x, weight),
        lambda: tm.with_gradients(
            lambda *inputs: tm.rms_norm(*inputs, 1e-6), upstream, x, weight, exact=True
        ),
    )
