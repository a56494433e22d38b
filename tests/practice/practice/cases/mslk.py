"""MSLK: products of fp8 and fp4 with scales of blocks, tuned after pruning, and scales of groups."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("meta-pytorch/MSLK", "2a3c89786adf55359cfcc5d5cb9f4c41875eaac6", packages={"mslk": "."})  # fmt: skip
LEVELS = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def _fp4(n, k):
    """Values that fp4 has, and two of them in each byte, the first one low."""
    code = torch.randint(0, 16, (n, k))
    values = LEVELS[code % 8] * torch.where(code < 8, 1.0, -1.0)
    return values.double(), (code[:, ::2] | code[:, 1::2] << 4).to(torch.uint8)


def _in_blocks(scales):
    """Scales in the order of blocks of 128 by 4."""
    rows, columns = scales.shape
    padded = torch.nn.functional.pad(scales, (0, -columns % 4, 0, -rows % 128))
    parts = padded.reshape(-(-rows // 128), 4, 32, -(-columns // 4), 4).permute(0, 3, 2, 1, 4)
    return parts.reshape(-1)


@repository.case("mslk/gemm/triton/mx8mx4_gemm.py", "_mx8mx4bf16_kernel", small=dict(m=40, n=70, k=160), production=dict(m=4096, n=4096, k=4096), rtol=2e-2, atol=2e-2)  # fmt: skip
def product_fp8_fp4(file, device, m, n, k):
    x, (w, packed) = tm.fp8(m, k, device=device), _fp4(n, k)
    x_scale, w_scale = (torch.randint(120, 126, (rows, k // 32), dtype=torch.uint8) for rows in (m, n))  # fmt: skip
    given = packed.to(device), _in_blocks(x_scale).to(device), w_scale.to(device)

    def want():
        sizes = [(s.double() - 127).exp2().repeat_interleave(32, 1).to(device) for s in (x_scale, w_scale)]  # fmt: skip
        return (x.float().double() * sizes[0]) @ (w.to(device) * sizes[1]).T

    return lambda: file.matmul_mx8mx4bf16(x, *given), want


@repository.case("mslk/quantize/triton/legacy/global_scale.py", "_calculate_group_max", small=dict(sizes=[5, 0, 30, 9], k=64), production=dict(sizes=[500, 0, 3000, 700], k=4096), rtol=1e-3, atol=1e-3)  # fmt: skip
def scales_of_groups(file, device, sizes, k):
    x = tm.normal(sum(sizes), k, device=device, dtype=torch.bfloat16)
    groups = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))

    def want():
        most = [g.abs().double().max() if len(g) else None for g in x.split(sizes)]
        empty = torch.finfo(torch.float32).max
        return torch.tensor([empty if v is None else 448 * 6 / v for v in most]), groups

    return lambda: file.calculate_group_max(x, torch.tensor(sizes).to(device)), want
