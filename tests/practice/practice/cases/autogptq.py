"""AutoGPTQ: 2, 4 and 8-bit weights in int32, with the group of every row."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "AutoGPTQ/AutoGPTQ", "9f7d37072917ab3a7545835f23e808294a542153", packages={"auto_gptq": "."}
)
FOLDER = "auto_gptq/nn_modules/triton_utils/"
SIZES = dict(small=dict(m=20, k=256, n=256), production=dict(m=64, k=4096, n=4096))


def packed(values, bits, axis):
    """32 / bits values in each int32 along an axis, the first one in the lowest bits."""
    grouped = values.to(torch.int64).unflatten(axis, (-1, 32 // bits))
    word = sum(grouped.select(axis + 1, i) << (bits * i) for i in range(32 // bits))
    return torch.where(word >= 1 << 31, word - (1 << 32), word).to(torch.int32)


def weights(device, k, n, bits, group=64, offset=1):
    """Packed weights, scales, packed zeros (stored less ``offset``), groups of rows, and the values."""
    w, z = torch.randint(0, 1 << bits, (k, n)), torch.randint(0, (1 << bits) - 1, (k // group, n))
    scales = (torch.rand(k // group, n) * 0.1).half()
    groups = (torch.arange(k) // group)[torch.randperm(k)].to(torch.int32)
    real = (w - z[groups.long()] - offset).double() * scales.double()[groups.long()]
    given = packed(w, bits, 0), scales, packed(z, bits, 1), groups
    return [x.to(device) for x in (*given, real)]


def _dequantised(file, device, k, n, bits):
    *given, real = weights(device, k, n, bits)
    return lambda: file.dequant248(*given, bits), lambda: real


@repository.case(FOLDER + "dequant.py", "dequant_kernel_248", small=dict(k=256, n=160, bits=4), production=dict(k=4096, n=4096, bits=4), rtol=2e-3, atol=2e-3)  # fmt: skip
def dequantised_4(file, device, **size):
    return _dequantised(file, device, **size)


@repository.case(FOLDER + "dequant.py", "dequant_kernel_248", small=dict(k=256, n=160, bits=8), production=dict(k=4096, n=4096, bits=8), rtol=2e-3, atol=2e-2)  # fmt: skip
def dequantised_8(file, device, **size):
    return _dequantised(file, device, **size)


@repository.case(FOLDER + "dequant.py", "dequant_kernel_248", small=dict(k=256, n=160, bits=2), production=dict(k=4096, n=4096, bits=2), rtol=2e-3, atol=2e-3)  # fmt: skip
def dequantised_2(file, device, **size):
    return _dequantised(file, device, **size)


@repository.case(FOLDER + "kernels.py", "quant_matmul_248_kernel", **SIZES, rtol=1e-2, atol=0.1)
def matmul_4(file, device, m, k, n):
    *given, real = weights(device, k, n, 4)
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    return lambda: file.quant_matmul_248(x, *given, 4, 15), lambda: x.double() @ real


@repository.case(
    FOLDER + "kernels.py", "transpose_quant_matmul_248_kernel", **SIZES, rtol=1e-2, atol=0.1
)
def matmul_4_transposed(file, device, m, k, n):
    *given, real = weights(device, k, n, 4)
    x = tm.normal(m, n, device=device, dtype=torch.float16)
    return lambda: file.transpose_quant_matmul_248(x, *given, 4, 15), lambda: x.double() @ real.T


@repository.case(FOLDER + "kernels.py", "quant_matmul_248_kernel", **SIZES, rtol=1e-2, atol=0.1)
def matmul_4_inference(file, device, m, k, n):
    *given, real = weights(device, k, n, 4)
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    return lambda: file.quant_matmul_inference_only_248(x, *given, 4, 15), lambda: x.double() @ real
