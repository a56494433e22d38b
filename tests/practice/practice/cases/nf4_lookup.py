"""nf4-triton-kernel: 4-bit numbers of a table, which is in PTX."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("Griffith-7/nf4-triton-kernel", "b6138503ef1b6c5deefe67a1e5ddeb8aba3f89a4")


@repository.case("src/nf4_kernel/kernel.py", "_nf4_kernel_bf16", rtol=1e-2, atol=1e-5, small=dict(n=5000), production=dict(n=1 << 26))  # fmt: skip
def dequantise(file, device, n):
    packed = tm.integers(0, 256, n // 2, device=device, dtype=torch.uint8)
    scales = torch.rand(-(-n // 64)).to(device)

    def want():
        codes = torch.stack([packed >> 4, packed & 15], 1).flatten().long()
        values = torch.tensor(file.NF4_TABLE, dtype=torch.float64, device=device)[codes]
        return values * scales.double().repeat_interleave(64)[:n]

    return lambda: file.dequant_nf4(packed, scales), want
