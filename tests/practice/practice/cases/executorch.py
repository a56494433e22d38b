"""executorch: products with 4-bit weights, and the largest elements."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("pytorch/executorch", "cff6f4dd32e630945b7188512c1f2b4f102b05ad")
PLACE = "backends/cuda/triton/kernels/"
BF16 = torch.bfloat16


def _weights(n, k, group, device):
    values = torch.randint(0, 16, (n, k))
    packed = (values[:, ::2] | values[:, 1::2] << 4).to(torch.uint8).view(torch.int8)
    scales = (torch.rand(n, k // group) / 50).to(BF16)
    exact = (values - 8).double() * scales.double().repeat_interleave(group, 1)
    return packed.to(device), scales.to(device), exact.to(device)


@repository.case(f"{PLACE}int4_matmul.py", "_int4_matmul_kernel, _dequant_w4_to_bf16_kernel", small=dict(m=20, n=70, k=256), production=dict(m=4096, n=4096, k=4096), rtol=2e-2, atol=5e-2)  # fmt: skip
def int4(file, device, m, n, k):
    x, (w, scales, exact) = tm.normal(m, k, device=device, dtype=BF16), _weights(n, k, 32, device)
    return (
        lambda: (file.int4_matmul(x, w, scales, 32), file.dequant_w4_to_bf16(w, scales, 32)),
        lambda: (x.double() @ exact.T, exact),
    )


@repository.case(f"{PLACE}int4_matmul.py", "_int4_matvec_kernel", small=dict(n=70, k=256), production=dict(n=12288, k=4096), rtol=2e-2, atol=5e-2)  # fmt: skip
def int4_row(file, device, n, k):
    x, (w, scales, exact) = tm.normal(1, k, device=device, dtype=BF16), _weights(n, k, 32, device)
    return lambda: file._int4_matvec(x, w, scales, 32, False), lambda: x.double() @ exact.T


@repository.case(f"{PLACE}topk.py", "_topk_kernel", small=dict(m=5, n=100, k=7), production=dict(m=8192, n=256, k=8))  # fmt: skip
def largest(file, device, m, n, k):
    x = torch.stack([torch.randperm(n) for _ in range(m)]).float().to(device)

    def both(function):
        return [part for largest in (True, False) for part in function(x, k, -1, largest)]

    return lambda: both(file.topk), lambda: both(torch.topk)
