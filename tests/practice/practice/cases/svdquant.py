"""svdquant-kernels: activations in 4 bits with an fp8 scale for 16 of them, and their product with
a matrix of low rank, added up by atomics."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ultranationalism/svdquant-kernels", "ceeca20b9d05c8d9cf15be7e2e42096582d8878b")  # fmt: skip
FILE = "triton_kernels/quantize_w4a4_act_fuse_lora/kernel.py"
BF16 = torch.bfloat16


@repository.case(FILE, "_lora_down_kernel", small=dict(m=70, k=200, rank=24), production=dict(m=16384, k=4096, rank=128), rtol=1e-3, atol=1e-3)  # fmt: skip
def low_rank(file, device, m, k, rank):
    x = tm.normal(m, k, device=device, dtype=BF16)
    down = tm.normal(k, rank, device=device, dtype=BF16, scale=k**-0.5)
    return lambda: file.lora_down(x, down), lambda: x.double() @ down.double()


def _case(file, device, m, k, rank, smooth):
    x = tm.normal(m, k, device=device, dtype=BF16)
    down = tm.normal(k, rank, device=device, dtype=BF16, scale=k**-0.5)
    factors = (torch.rand(k) + 0.5).to(BF16).to(device) if smooth else None

    def run():
        codes, scales, low = file.quantize_w4a4_act_fuse_lora(x, down, factors, fp4=True)
        codes = torch.stack((codes & 15, codes >> 4), -1).flatten(1)
        return codes[:m], scales.T[:m], low[:m]

    def want():
        y = x.double() / factors.double() if smooth else x.double()
        groups = y.unflatten(1, (-1, 16))
        scales = (groups.abs().amax(-1) / 6).clamp(1e-12, 448).float().to(tm.FP8)
        scaled = (groups / scales.double()[..., None]).flatten(1)
        limits = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], device=device).double()
        codes = torch.bucketize(scaled.abs(), limits, right=True) + 8 * (scaled < 0)
        return codes, scales, x.double() @ down.double()

    return run, want


@repository.case(FILE, "_quantize_w4a4_act_fuse_lora_kernel, _fused_step", small=dict(m=70, k=208, rank=24), production=dict(m=8192, k=4096, rank=32), rtol=1e-3, atol=1e-2, share=1e-3)  # fmt: skip
def quantised(file, device, m, k, rank):
    """A program for each tile."""
    return _case(file, device, m, k, rank, False)


@repository.case(FILE, "_quantize_w4a4_act_fuse_lora_kernel, _fused_step", small=dict(m=70, k=1104, rank=100), production=dict(m=8192, k=4096, rank=128), rtol=1e-3, atol=1e-2, share=1e-3)  # fmt: skip
def quantised_and_smoothed(file, device, m, k, rank):
    """A program for several tiles of a row."""
    return _case(file, device, m, k, rank, True)
