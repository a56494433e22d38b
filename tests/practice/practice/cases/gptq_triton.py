"""GPTQ-triton: products with 4-bit weights, with an autotuner of its own."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("fpgaminer/GPTQ-triton", "2b79122e56eb622288711b327dcf184505b65096", packages={"gptq_triton": "src"})  # fmt: skip


@repository.case("src/gptq_triton/quant_linear.py", "matmul4_kernel", small=dict(m=20, n=256, k=256), production=dict(m=2048, n=4096, k=4096), rtol=2e-2, atol=5e-2)  # fmt: skip
def matmul4(file, device, m, n, k):
    group = 128
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    values, zeros = torch.randint(0, 16, (k, n)), torch.randint(0, 15, (k // group, n))
    scales = (torch.rand(k // group, n) / 50).half()
    packed, packed_zeros = tm.packed_int4(values, axis=0).to(device), tm.packed_int4(zeros).to(device)  # fmt: skip
    w = (values - (zeros + 1).repeat_interleave(group, 0)).double() * scales.double().repeat_interleave(group, 0)  # fmt: skip
    given, w = scales.to(device), w.to(device)
    return lambda: file.triton_matmul4(group, x, packed, given, packed_zeros), lambda: x.double() @ w  # fmt: skip
