"""Suanzi: products of 8-bit integers, and a convolution of patches that do not overlap."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("CSWellesSun/suanzi", "592c4184e212a2875f031e3640d1c391b870091f")


@repository.case("kernels/conv2d.py", "conv2d_kernel", small=dict(b=2, c=3, out=5, size=32, patch=8), production=dict(b=16, c=3, out=384, size=224, patch=16), rtol=1e-4, atol=1e-3)  # fmt: skip
def patches(file, device, b, c, out, size, patch):
    x = tm.normal(b, c, size, size, device=device)
    weight = tm.normal(out, c, patch, patch, device=device, scale=0.1)
    bias = tm.normal(out, device=device)

    def want():
        return F.conv2d(x.double(), weight.double(), bias.double(), stride=patch)

    return lambda: file.conv2d_triton(x, weight, bias), want


@repository.case("kernels/quantize_gemm_int8.py", "quantize_int8_perrow_kernel", small=dict(m=20, k=200), production=dict(m=16384, k=4096), rtol=1e-5, atol=1e-6, share=1e-2)  # fmt: skip
def rows_in_8_bits(file, device, m, k):
    """Values are rounded towards zero; that decides of the largest one of each row."""
    x = tm.normal(m, k, device=device)

    def want():
        scale = x.double().abs().amax(1) / 127
        return (x.double() / scale[:, None]).trunc(), scale

    return lambda: file.quantize_int8_perrow(x), want


# Where the sum is in parts, each is rounded to float16 before it is added.
@repository.case("kernels/quantize_gemm_int8.py", "matmul_kernel", small=dict(m=40, n=70, k=200), production=dict(m=2048, n=4096, k=4096), rtol=5e-3, atol=1e-2)  # fmt: skip
def times_8_bits(file, device, m, n, k):
    a, b = (
        tm.integers(-127, 128, *shape, device=device, dtype=torch.int8)
        for shape in ((m, k), (k, n))
    )
    a_scale, b_scale = ((torch.rand(size) * 2e-3).to(device) for size in (m, n))

    def want():
        return (a.double() @ b.double()) * a_scale.double()[:, None] * b_scale.double()

    return lambda: file.matmul_int8(a, a_scale, b, b_scale), want
