"""py2tensor: softmax, GELU and layer norm by polynomials and Newton's method: what is right is the
same polynomial."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Tehlikeli107/py2tensor", "9d53cded379f0ec917a69680062f6d6cb07c215d")
FILE = "triton_tc_softmax.py"


@repository.case(FILE, "_poly_softmax_kernel", small=dict(m=20, n=512), production=dict(m=16384, n=2048), rtol=1e-3, atol=1e-6)  # fmt: skip
def softmax(file, device, m, n):
    x = torch.rand(m, n).to(device)

    def want():
        y = x.double() - x.double().amax(-1, keepdim=True)
        y = sum(y**i / math.factorial(i) for i in range(7))
        return y / y.sum(-1, keepdim=True)

    return lambda: file.triton_softmax(x), want


@repository.case(FILE, "_poly_gelu_kernel", small=dict(n=3000), production=dict(n=1 << 25), rtol=1e-4, atol=1e-5)  # fmt: skip
def gelu(file, device, n):
    x = tm.normal(n, device=device)

    def want():
        y = x.double()
        inner = 0.7978845608 * (y + 0.044715 * y**3)
        tanh = inner * (27 + inner**2) / (27 + 9 * inner**2)
        return y / 2 * (1 + tanh.where(inner.abs() <= 3, inner.sign()))

    return lambda: file.triton_gelu(x), want


@repository.case(FILE, "_poly_layernorm_kernel", small=dict(m=20, n=512), production=dict(m=16384, n=2048), rtol=1e-4, atol=1e-5)  # fmt: skip
def layer_norm(file, device, m, n):
    x = tm.normal(m, n, device=device)
    weight, bias = (tm.normal(n, device=device) for _ in range(2))

    def want():
        y = x.double() - x.double().mean(-1, keepdim=True)
        variance = y.square().mean(-1, keepdim=True) + 1e-5
        root = 0.5
        for _ in range(3):
            root = root * (3 - variance * root * root) * 0.5
        return y * root * weight.double() + bias.double()

    return lambda: file.triton_layernorm(x, weight, bias), want
