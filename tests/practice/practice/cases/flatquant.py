"""FlatQuant: products with small matrices from both sides, made 4-bit integers at the end."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "ruikangliu/FlatQuant", "9d88ffcb7d2c6bda59fb5c44dad36adc101aadb1",
    stand_ins={
        "deploy": {"PackedQuantizedTensor": lambda packed, scales: (packed, scales)},
        "deploy.nn.quantization": {},
    },
)  # fmt: skip
HALF = torch.float16


def _unpacked(made):
    """What two 4-bit integers in each byte stand for."""
    packed, scales = made
    parts = packed.to(torch.int32) & 15, packed.to(torch.int32) >> 4 & 15
    whole = torch.stack(parts, -1).flatten(-2)
    return torch.where(whole > 7, whole - 16, whole) * scales.float(), scales


def _quantised(x, most, least):
    """4-bit integers of each matrix, by what is left of its largest value."""
    top = torch.maximum(x.amax((1, 2)) * most, (x.amin((1, 2)) * least).abs())[:, None, None] / 7
    return ((x / top).round().clamp(-8, 7) * top).flatten(1), top[..., 0]


# A value between two integers may go to the other one: the sum is rounded to half before.
ROUNDED = dict(rtol=1e-2, atol=1e-2, share=0.01)


@repository.case("deploy/kernels/kron_matmul.py", "matmul_kernel", small=dict(b=2, m=64, n=64, tokens=3), production=dict(b=4, m=64, n=64, tokens=2048), **ROUNDED)  # fmt: skip
def kron(file, device, b, m, n, tokens):
    a = tm.normal(m, m, device=device, dtype=HALF, scale=m**-0.5)
    x = tm.normal(b * tokens, m, n, device=device, dtype=HALF)
    c = tm.normal(n, n, device=device, dtype=HALF, scale=n**-0.5)
    most, least = 2.0, 1.5

    def want():
        y = (a.double() @ x.double()).half().double() @ c.double()
        return _quantised(y, *(1 / (1 + math.exp(-f)) for f in (most, least)))

    return lambda: _unpacked(file.kron_matmul(a, x, c, tokens, most, least)), want


@repository.case("deploy/kernels/kron_matmul.py", "matmul_kernel, quant_kernel", small=dict(b=1, m=128, n=64, tokens=3), production=dict(b=2, m=128, n=128, tokens=2048), **ROUNDED)  # fmt: skip
def kron_in_two_steps(file, device, b, m, n, tokens):
    return kron(file, device, b, m, n, tokens)


@repository.case("deploy/kernels/block_matmul.py", "matmul_quant_kernel", small=dict(b=2, m=32, n=32, tokens=3), production=dict(b=4, m=64, n=64, tokens=2048), **ROUNDED)  # fmt: skip
def product_from_one_side(file, device, b, m, n, tokens):
    """The integers are written transposed: kernel and quantiser hold blocks for square."""
    x = tm.normal(b * tokens, m, n, device=device, dtype=HALF)
    c = tm.normal(n, n, device=device, dtype=HALF, scale=n**-0.5)

    def want():
        y = (x.double() @ c.double()).mT.contiguous()
        return _quantised(y, *(1 / (1 + math.exp(-f)) for f in (2.0, 1.5)))

    return lambda: _unpacked(file.block_matmul(x, c, tokens, 2.0, 1.5)), want
