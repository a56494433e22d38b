"""LLMC: weights in blocks of fp8, and products with them."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ModelTC/llmc", "05eedff08c58ce5a3a4e2e879133bc922dff6ff5")
FILE = "llmc/compression/quantization/kernel.py"


@repository.case(FILE, "weight_cast_to_fp8_kernel, weight_cast_to_bf16_kernel", rtol=1e-5, atol=1e-5, share=1e-3, small=dict(m=200, n=300), production=dict(m=7168, n=18432))  # fmt: skip
def there_and_back(file, device, m, n):
    x = tm.normal(m, n, device=device, dtype=torch.bfloat16)

    def run():
        y, scales = file.weight_cast_to_fp8(x)
        return y, scales, file.weight_cast_to_bf16(y, scales)

    def want():
        padded = torch.nn.functional.pad(x.float(), (0, -n % 128, 0, -m % 128))
        scales = padded.unflatten(0, (-1, 128)).unflatten(2, (-1, 128)).abs().amax((1, 3)) / 448
        full = scales.repeat_interleave(128, 0)[:m].repeat_interleave(128, 1)[:, :n]
        y = (x.float() / full).to(tm.FP8)
        return y, scales, y.float() * full

    return run, want


@repository.case(FILE, "fp8_gemm_kernel", rtol=1e-3, atol=1e-2, small=dict(m=40, n=200, k=256), production=dict(m=1024, n=7168, k=2048))  # fmt: skip
def fp8_product(file, device, m, n, k):
    a, b = tm.fp8(m, k, device=device), tm.fp8(n, k, device=device)
    scales = torch.rand(m, k // 128).to(device), torch.rand(-(-n // 128), k // 128).to(device)

    def want():
        x, y = tm.dequantised_blocks(a, scales[0], 128), tm.dequantised_blocks(b, scales[1], 128, 128)  # fmt: skip
        return x @ y.T

    return lambda: file.fp8_gemm(a, scales[0], b, scales[1]), want
