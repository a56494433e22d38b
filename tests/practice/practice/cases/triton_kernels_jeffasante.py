"""triton-kernels of jeffasante: a product of 8-bit integers with float16, and a rotation."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("jeffasante/triton-kernels", "509a9a7d4e26dc36c4e441c9f79582acdaa49952")


# Sums below 2**24 are exact.
@repository.case("kernels/int8_matmul.py", "int8_matmul_kernel", small=dict(m=90, n=150, k=100), production=dict(m=4096, n=4096, k=4096), rtol=0, atol=0)  # fmt: skip
def product(file, device, m, n, k):
    a, b = (
        tm.integers(-60, 61, *shape, device=device, dtype=torch.int8) for shape in ((m, k), (k, n))
    )
    return lambda: file.triton_int8_matmul(a, b), lambda: a.double() @ b.double()


@repository.case("kernels/rope.py", "rope_kernel", small=dict(b=2, t=9, heads=3, d=32), production=dict(b=4, t=4096, heads=32, d=128), rtol=1e-2, atol=1e-2)  # fmt: skip
def rotation(file, device, b, t, heads, d):
    x = tm.normal(b, t, heads, d, device=device, dtype=torch.float16)
    angles = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
    cos, sin = (y.half().to(device) for y in (angles.cos(), angles.sin()))
    return (
        lambda: file.triton_rope(x, cos, sin),
        lambda: tm.rotated(x, cos[:, None], sin[:, None]),
    )
