"""ComfyUI-Wan-INT8: layers of 8-bit integers, with a scale for each row, column or block, and the
Hadamard transform, a launch for each of its stages."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ThunderFun/ComfyUI-Wan-INT8", "46f4e174abf793ca762e3e5e81e5b7fec018d816")
FILE = "triton_kernels.py"
HALF = torch.float16


def _rounded(x):
    """The rows in 8 bits, and their scales."""
    scale = x.double().abs().amax(-1, keepdim=True) / 127
    return (x.double() / scale).round(), scale


@repository.case(FILE, "_hadamard_autotuned_stage_kernel, _hadamard_normalize_kernel, _copy_kernel", small=dict(rows=5, n=512), production=dict(rows=4096, n=4096), rtol=1e-4, atol=1e-4)  # fmt: skip
def hadamard(file, device, rows, n):
    x = tm.normal(rows, n, device=device)

    def want():
        y = x.double()
        for stage in range(n.bit_length() - 1):
            y = y.view(rows, -1, 2, 1 << stage)
            y = torch.stack((y[:, :, 0] + y[:, :, 1], y[:, :, 0] - y[:, :, 1]), 2)
        return y.reshape(rows, n) / n**0.5, y.reshape(rows, n)

    return (
        lambda: [file.triton_hadamard_transform(x, normalize) for normalize in (True, False)],
        want,
    )


@repository.case(FILE, "_quantize_rowwise_kernel", small=dict(m=20, n=5000), production=dict(m=8192, n=5120), rtol=1e-5, atol=0, share=1e-3)  # fmt: skip
def rows_in_8_bits(file, device, m, n):
    x = tm.normal(m, n, device=device)

    def want():
        rounded, scale = _rounded(x)
        return rounded, scale[:, 0]

    return lambda: file.triton_quantize_rowwise(x), want


@repository.case(FILE, "_quantize_rowwise_kernel, _int8_gemm_dequant_ampere", small=dict(m=70, n=150, k=200), production=dict(m=4096, n=5120, k=5120), rtol=1e-2, atol=2e-2)  # fmt: skip
def linear(file, device, m, n, k):
    x, bias = tm.normal(m, k, device=device, dtype=HALF), tm.normal(n, device=device)
    weight = tm.integers(-127, 128, n, k, device=device, dtype=torch.int8)
    scale = (torch.rand(n) + 0.5).to(device) / (70 * k**0.5)

    def want():
        rounded, x_scale = _rounded(x)
        return rounded @ weight.double().T * x_scale * scale.double() + bias.double()

    return lambda: file.triton_int8_linear(x, weight, scale, bias), want


@repository.case(FILE, "_quantize_rowwise_kernel, _blockwise_int8_matmul_ampere", small=dict(m=70, n=150, k=256), production=dict(m=4096, n=5120, k=5120), rtol=1e-2, atol=2e-2)  # fmt: skip
def linear_with_scales_of_blocks(file, device, m, n, k):
    x = tm.normal(m, k, device=device, dtype=HALF)
    weight = tm.integers(-127, 128, n, k, device=device, dtype=torch.int8)
    scales = (torch.rand(n, k // 128, 1) + 0.5).to(device) / (70 * k**0.5)

    def want():
        rounded, x_scale = _rounded(x)
        return rounded @ tm.dequantised_blocks(weight, scales[..., 0], 1, 128).T * x_scale

    return lambda: file.triton_blockwise_int8_linear(x, weight, scales), want
