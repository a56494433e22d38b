"""LeetGPU of lzyrapx: four beginners' kernels that take their pointers as integers or tensors."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("lzyrapx/LeetGPU", "6f17c2ab85ab933e6e2faf038b6188ebf052843a")


def _solution(name, kernel, small, production, **tolerances):
    def decorate(make):
        def build(file, device, **sizes):
            args, out, want = make(device, **sizes)

            def run():
                file.solve(*args)
                return out

            return run, want

        return repository.case(
            f"triton/{name}/{name}.py", kernel, small=small, production=production,
            name=make.__name__, **tolerances,
        )(build)  # fmt: skip

    return decorate


@_solution("1D Convolution", "conv1d_kernel", dict(n=3000, k=30), dict(n=1500000, k=1023), rtol=1e-3, atol=1e-3)  # fmt: skip
def convolution(device, n, k):
    x, w = tm.normal(n, device=device), tm.normal(k, device=device)
    out = x.new_empty(n - k + 1)
    return (x, w, out, n, k), out, lambda: F.conv1d(x.double()[None, None], w.double()[None, None])[0, 0]  # fmt: skip


@_solution("Matrix Multiplication", "matrix_multiplication_kernel", dict(m=70, n=90, k=80), dict(m=2048, n=2048, k=2048), rtol=1e-4, atol=1e-3)  # fmt: skip
def product(device, m, n, k):
    a, b = tm.normal(m, n, device=device), tm.normal(n, k, device=device)
    out = a.new_empty(m, k)
    return (a, b, out, m, n, k), out, lambda: a.double() @ b.double()


@_solution("Matrix Transpose", "matrix_transpose_kernel", dict(r=70, c=90), dict(r=7000, c=6000))
def transpose(device, r, c):
    x = tm.normal(r, c, device=device)
    out = x.new_empty(c, r)
    return (x, out, r, c), out, lambda: x.T


@_solution("Vector Addition", "vector_add_kernel", dict(n=3000), dict(n=25000000))
def add(device, n):
    a, b = tm.normal(2, n, device=device)
    out = torch.empty_like(a)
    return (a, b, out, n), out, lambda: a.double() + b.double()
