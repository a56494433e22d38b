"""Tri-RMSNorm: norms of rows, longer than a block too."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("dtunai/Tri-RMSNorm", "a6e031c28b6466ece7d6dae814e6a35a7af9d0f3")
FILE = "tri_rmsnorm/kernel/rms_normalization_kernel.py"


@repository.case(FILE, "_rms_norm_fwd_fused", rtol=1e-2, atol=1e-2, small=dict(m=20, n=3000, size=1024), production=dict(m=8192, n=8192, size=4096))  # fmt: skip
def rms_norm(file, device, m, n, size):
    x = tm.normal(m, n, device=device, dtype=torch.float16)
    weight, bias = (tm.normal(n, device=device, dtype=torch.float16) for _ in range(2))

    def run():
        out, rms = torch.empty_like(x), torch.empty(m, device=device)
        file._rms_norm_fwd_fused[(m,)](x, out, weight, bias, rms, n, n, 1e-5, BLOCK_SIZE=size)
        return out, rms

    def want():
        rms = (x.double().square().mean(1) + 1e-5).sqrt()
        return tm.rms_norm(x, weight, 1e-5) + bias.double(), rms

    return run, want


@repository.case(FILE, "_rms_norm_bwd_dwdb", rtol=1e-3, atol=1e-3, small=dict(m=50, n=300), production=dict(m=4096, n=8192))  # fmt: skip
def sums_of_gradients(file, device, m, n):
    dw, db = (tm.normal(m, n, device=device) for _ in range(2))

    def run():
        sums = [torch.empty(n, device=device) for _ in range(2)]
        file._rms_norm_bwd_dwdb[(-(-n // 128),)](dw, db, *sums, m, n, BLOCK_SIZE_M=32, BLOCK_SIZE_N=128)  # fmt: skip
        return sums

    return run, lambda: [x.double().sum(0) for x in (dw, db)]
