"""Ketansuhaas's kernels: a convolution, a product of float32, and a vector from its end."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Ketansuhaas/cuda-triton-kernels", "2c2c0ef7c34c05aef894dc228694c6dee7c82f10")  # fmt: skip


@repository.case("conv1d/triton_kernel.py", "conv1d_kernel", small=dict(n=3000, k=9), production=dict(n=1 << 23, k=63), rtol=1e-4, atol=1e-4)  # fmt: skip
def convolution(file, device, n, k):
    x, w = (tm.normal(size, device=device, scale=k**-0.25) for size in (n, k))

    def want():
        windows = x.double().unfold(0, k, 1)
        return torch.cat([part @ w.double() for part in windows.split(1 << 18)])

    return lambda: file.conv1d(x, w), want


@repository.case("matmul/triton_kernel.py", "matmul_kernel", small=dict(m=70, n=90, k=100), production=dict(m=2048, n=2048, k=2048), rtol=1e-4, atol=1e-4)  # fmt: skip
def product(file, device, m, n, k):
    a, b = tm.normal(m, k, device=device), tm.normal(k, n, device=device, scale=k**-0.5)
    return lambda: file.matmul(a, b), lambda: a.double() @ b.double()


@repository.case("reverse_vector/triton_kernel.py", "reverse_vector_kernel", small=dict(n=3000), production=dict(n=1 << 26), rtol=0, atol=0)  # fmt: skip
def from_its_end(file, device, n):
    x = tm.normal(n, device=device)
    return lambda: file.reverse_vector(x), lambda: x.flip(0)
