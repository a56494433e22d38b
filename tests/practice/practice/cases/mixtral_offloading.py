"""Mixtral offloading: products with weights of 2, 3 and 4 bits, packed along the outputs."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("dvmazur/mixtral-offloading", "ce545188b804238f0b23a59fc45e6a8f8b390c40", packages={"src": "."})  # fmt: skip
FILE = "src/triton_kernels.py"
SIZES = dict(small=dict(m=5, n=128, k=64, group=32), production=dict(m=32, n=14336, k=4096, group=64))  # fmt: skip


def _packed(values, count, bits):
    """The first of ``count`` values has the highest bits."""
    values = torch.nn.functional.pad(values, (0, 0, 0, -len(values) % count))
    parts = values.unflatten(0, (-1, count))
    return sum(parts[:, i] << (bits * (count - 1 - i)) for i in range(count))


def _product(file, device, bits, m, n, k, group):
    x = tm.normal(m, k, device=device, dtype=torch.float16, scale=k**-0.5)
    values = torch.randint(0, 1 << bits, (n, k))
    rows = n // group
    scales = (torch.rand(rows, k) + 0.5).half().to(device)
    zeros = (torch.rand(rows, k) * (1 << bits)).half().to(device)
    count, dtype = {2: (4, torch.uint8), 3: (10, torch.int32), 4: (2, torch.uint8)}[bits]
    packed = _packed(values, count, bits).to(dtype).to(device)

    def run():
        if bits == 3:
            return file.triton_matmul3_transpose(group, x, packed, scales, zeros, n)
        multiply = file.triton_matmul2_transpose if bits == 2 else file.triton_matmul4_transpose
        return multiply(group, x, packed, scales, zeros)

    def want():
        of = torch.arange(n, device=device) % rows
        weight = (values.to(device).half() - zeros[of]) * scales[of]
        return x.double() @ weight.double().T

    return run, want


@repository.case(FILE, "matmul2_kernel_transpose", rtol=1e-2, atol=1e-2, **SIZES)
def two_bits(file, device, **size):
    return _product(file, device, 2, **size)


@repository.case(FILE, "matmul3_kernel_transpose", rtol=1e-2, atol=1e-2, **SIZES)
def three_bits(file, device, **size):
    return _product(file, device, 3, **size)


@repository.case(FILE, "matmul4_kernel_transpose", rtol=1e-2, atol=1e-2, **SIZES)
def four_bits(file, device, **size):
    return _product(file, device, 4, **size)
