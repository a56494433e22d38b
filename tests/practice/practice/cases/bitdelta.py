"""BitDelta: a matrix product with weights of one bit."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("FasterDecoding/BitDelta", "ecbee1e28f6b02444d535e0a165b48cba3fe217a")
HALF = dict(rtol=1e-2, atol=2e-1)


@repository.case("bitdelta/binary_gemm_kernel.py", "binary_matmul_kernel", small=dict(m=40, n=96, k=128), production=dict(m=64, n=4096, k=4096), **HALF)  # fmt: skip
def binary(file, device, m, n, k):
    a, bits = tm.normal(m, k, device=device, dtype=torch.float16), torch.rand(k, n) < 0.5
    packed = file.pack(bits.int(), 32).to(device)
    return (
        lambda: file.binary_matmul(a, packed),
        lambda: a.double() @ (bits.to(device).double() * 2 - 1),
    )


@repository.case("bitdelta/binary_gemm_kernel.py", "binary_bmm_kernel", small=dict(b=3, m=20, n=96, k=128), production=dict(b=8, m=16, n=4096, k=4096), **HALF)  # fmt: skip
def batched(file, device, b, m, n, k):
    a, bits = tm.normal(b, m, k, device=device, dtype=torch.float16), torch.rand(b, k, n) < 0.5
    packed = file.pack(bits.int(), 32).to(device)
    return (
        lambda: file.binary_bmm(a, packed),
        lambda: a.double() @ (bits.to(device).double() * 2 - 1),
    )
