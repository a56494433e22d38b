"""COAT: activations kept in fp8 with a scale for each short row, forward and backward."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("NVlabs/COAT", "80ec99f47aaa09231b07ace1fd04c30a1e30ec18", packages={"coat": "."})  # fmt: skip
PLACE, QB = "coat/activation/real_quantization/", 16
SIZES = dict(small=dict(m=64, n=128), production=dict(m=8192, n=4096))
FP8 = dict(rtol=0.08, atol=0.03)  # two roundings to three bits
BF16 = torch.bfloat16


def _quantised(m, n, device):
    """Elements in fp8, a scale for 16 of a row, and both together in float64."""
    x = torch.randn(m, n // QB, QB)
    scales = (x.abs().amax(-1) / 400).to(BF16)
    x = (x / scales.float()[..., None]).to(tm.FP8).view(m, n)
    exact = tm.dequantised_blocks(x, scales, 1, QB)
    return x.to(device), scales.to(device), exact.to(device)


def _whole(x, scales):
    return tm.dequantised_blocks(x, scales, 1, QB)


@repository.case(f"{PLACE}_dequantize.py", "_fp8_dequantize_kernel", rtol=1e-2, **SIZES)
def dequantize(file, device, m, n):
    x, scales, exact = _quantised(m, n, device)
    return lambda: file.fp8_dequantize(x, scales, QB), lambda: exact


@repository.case(f"{PLACE}_quantize.py", "_fp8_quantize_kernel", **SIZES, **FP8)
def quantize(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)
    return lambda: _whole(*file.fp8_quantize(x, QB, "E4M3")), lambda: x.double()


@repository.case(f"{PLACE}_quantize_perblock_transpose.py", "_fp8_quantize_perblock_transpose_kernel", **SIZES, **FP8)  # fmt: skip
def quantize_blocks(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=BF16)

    def run():
        pairs = file.fp8_quantize_perblock_transpose(x, 32, "E4M3")
        return [tm.dequantised_blocks(*pair, 32, 32) for pair in pairs]

    return run, lambda: [x.double(), x.double().T]


@repository.case(f"{PLACE}_transpose.py", "_fp8_transpose_kernel", **SIZES)
def transpose(file, device, m, n):
    x, _, _ = _quantised(m, n, device)
    return lambda: file.fp8_transpose(x, transpose_output_2d=True), lambda: x.float().T


@repository.case(f"{PLACE}silu_fwd.py", "_fp8_silu_forward_kernel", **SIZES, **FP8)
def silu(file, device, m, n):
    x, scales, exact = _quantised(m, n, device)
    return lambda: _whole(*file.fp8_silu_forward(x, scales, QB)), lambda: F.silu(exact)


@repository.case(f"{PLACE}gelu_fwd.py", "_fp8_gelu_forward_kernel", **SIZES, **FP8)
def gelu(file, device, m, n):
    x, scales, exact = _quantised(m, n, device)

    def run():
        y, scale, _ = file.fp8_gelu_forward(x, scales, QB)
        return y.double() * scale.double()

    return run, lambda: F.gelu(exact)


@repository.case(f"{PLACE}mul_fwd.py", "_fp8_mul_forward_kernel", rtol=0.08, atol=0.3, **SIZES)
def product(file, device, m, n):
    (x, sx, a), (y, sy, b) = (_quantised(m, n, device) for _ in range(2))

    def run():
        got, scale, _ = file.fp8_mul_forward(x, sx, y, sy, QB)
        return got.double() * scale.double()

    return run, lambda: a * b


@repository.case(f"{PLACE}func_rmsnorm.py", "_fp8_rmsnorm_forward_kernel", rtol=0.08, atol=0.2, **SIZES)  # fmt: skip
def rms_norm(file, device, m, n):
    x, scales, exact = _quantised(m, n, device)
    w = tm.normal(n, device=device, dtype=BF16)

    def run():
        got, scale, *_ = file.fp8_rmsnorm_forward(x, scales, w, QB, 1e-5)
        return got.double() * scale.double()

    return run, lambda: tm.rms_norm(exact, w, 1e-5)
