"""AutoAWQ: 4-bit weights, eight in an int32 in the order of AWQ."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "casper-hansen/AutoAWQ", "88e4c76b20755db275574e6a03c83c84ba3bece5", packages={"awq": "."}
)
FILE = "awq/modules/triton/gemm.py"
ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def _weights(device, k, n, group):
    w, zeros = torch.randint(0, 16, (k, n)), torch.randint(0, 16, (k // group, n))
    scales = (torch.rand(k // group, n) * 0.1 + 0.01).half()
    packed = [tm.packed_int4(x, ORDER).to(device) for x in (w, zeros)]
    real = (w - zeros.repeat_interleave(group, 0)).double() * scales.double().repeat_interleave(
        group, 0
    )
    return packed[0], scales.to(device), packed[1], real.to(device)


@repository.case(FILE, "awq_dequantize_kernel", small=dict(k=128, n=96, group=32), production=dict(k=4096, n=11008, group=128), rtol=1e-3, atol=1e-3)  # fmt: skip
def awq_dequantize(file, device, k, n, group):
    w, scales, zeros, real = _weights(device, k, n, group)
    return lambda: file.awq_dequantize_triton(w, scales, zeros), lambda: real


@repository.case(FILE, "awq_gemm_kernel", small=dict(m=5, k=256, n=64, group=64), production=dict(m=16, k=4096, n=11008, group=128), rtol=1e-2, atol=0.1)  # fmt: skip
def awq_gemm(file, device, m, k, n, group):
    w, scales, zeros, real = _weights(device, k, n, group)
    x = tm.normal(m, k, device=device, dtype=torch.float16)
    return lambda: file.awq_gemm_triton(x, w, scales, zeros, 4), lambda: x.double() @ real
