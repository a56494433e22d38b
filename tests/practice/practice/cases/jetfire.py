"""Jetfire: int8 with a scale for each block of 32 times 32, and layers on it."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("thu-ml/Jetfire-INT8Training", "55563553682643aef58fe2acbfacca64fd4c8d3c", folders=("Jetfire/Nonlinear",), packages={"Jetfire": "."}, stand_ins={"qtorch": {}})  # fmt: skip
PLACE, QB = "Jetfire/Nonlinear/", 32
SIZES = dict(small=dict(m=128, n=256), production=dict(m=8192, n=4096))
NEAR = dict(rtol=0.02, atol=0.05)


def _quantised(m, n, device):
    x = torch.randn(m // QB, QB, n // QB, QB)
    scales = (x.abs().amax((1, 3)) / 127).half()
    x = (x / scales.float()[:, None, :, None]).round().clamp(-127, 127).to(torch.int8).view(m, n)
    exact = tm.dequantised_blocks(x, scales, QB, QB)
    return x.to(device), scales.to(device), exact.to(device)


@repository.case(f"{PLACE}quantize.py", "int8_quantize_kernel", **SIZES, **NEAR)
def quantize(file, device, m, n):
    x = tm.normal(2, m, n, device=device, dtype=torch.float16)
    return (
        lambda: [tm.dequantised_blocks(*part, QB, QB) for part in zip(*file.int8_quantize(x, QB), strict=True)],
        lambda: list(x.double()),
    )  # fmt: skip


@repository.case(f"{PLACE}dequantize.py", "int8_dequantize_kernel", rtol=2e-3, **SIZES)
def dequantize(file, device, m, n):
    x, scales, exact = _quantised(m, n, device)
    return lambda: file.int8_dequantize(x, scales, QB), lambda: exact


@repository.case(f"{PLACE}gelu_fwd.py", "int8_gelu_kernel_forward", **SIZES, **NEAR)
def gelu(file, device, m, n):
    x, scales, exact = _quantised(m, n, device)
    return lambda: tm.dequantised_blocks(*file.int8_gelu_forward(x, scales, QB), QB, QB), lambda: F.gelu(exact)  # fmt: skip


@repository.case(f"{PLACE}transpose.py", "int8_transpose_kernel", **SIZES)
def transpose(file, device, m, n):
    x, _, _ = _quantised(m, n, device)
    return lambda: file.int8_transpose(x, transpose_output_2d=True), lambda: x.T
