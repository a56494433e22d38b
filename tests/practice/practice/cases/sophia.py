"""sophia-agi: a product with weights of 4 bits with a scale for 16 of them, and attention."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "tomyimkc/sophia-agi",
    "e3a6d522f98206782d95ff544b7d50985358ec0d",
    stand_ins={"kernels.bench.roofline": {}},
)


@repository.case("kernels/src/nvfp4_gemm.py", "_k", small=dict(m=70, n=100, k=96), production=dict(m=1024, n=4096, k=4096), rtol=1e-2, atol=1e-2)  # fmt: skip
def product_fp4(file, device, m, n, k):
    x = tm.normal(m, k, device=device)
    packed = tm.integers(0, 256, k // 2, n, device=device, dtype=torch.uint8)
    scales = (torch.rand(k // 16, n) + 0.5).to(device) / k**0.5

    def want():
        book = torch.tensor(file._E2M1_CODEBOOK, dtype=torch.float64, device=device)
        codes = torch.stack((packed & 15, packed >> 4), 1).view(k, n)
        return x.double() @ tm.dequantised_blocks(book[codes.long()], scales, 16, 1)

    return lambda: file._build_kernel()(x, packed, scales), want
