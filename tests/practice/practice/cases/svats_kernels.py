"""triton-kernels of S-VATS31: SwiGLU with its three products in one kernel, and a product."""

from __future__ import annotations

import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("S-VATS31/triton-kernels", "7645adb04c9030346fee63d5d1382b6c3fb5c381")
CLOSE = dict(rtol=1e-2, atol=1e-2)


@repository.case("swiglu.py", "swiglu_kernel, swish_kernel", small=dict(b=2, t=20, d=64, h=96), production=dict(b=4, t=512, d=256, h=1024), **CLOSE)  # fmt: skip
def swiglu(file, device, b, t, d, h):
    x = tm.normal(b, t, d, device=device)
    left, right, down = (tm.normal(*s, device=device) / s[0] ** 0.5 for s in ((d, h), (d, h), (h, d)))  # fmt: skip

    def want():
        rows = x.double()
        return F.silu(rows @ left.double()) * (rows @ right.double()) @ down.double()

    return lambda: file.swiglu(x, left, right, down), want


@repository.case("tiled_matmul_kernel.py", "matmul_kernel", small=dict(m=40, n=72, k=100), production=dict(m=2048, n=2048, k=2048), **CLOSE)  # fmt: skip
def product(file, device, m, n, k):
    a, b = tm.normal(m, k, device=device), tm.normal(k, n, device=device) / k**0.5
    return lambda: file.matmul(a, b, alpha=0.5), lambda: 0.5 * a.double() @ b.double()
