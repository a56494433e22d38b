"""ring-flash-attention: sums of sequences of different lengths, packed and unpacked."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("zhuzilin/ring-flash-attention", "899628238f2f5bb8c028579c89b7cd56ea451d2a")


@repository.case("ring_flash_attn/triton_utils.py", "flatten_kernel, unflatten_kernel", small=dict(b=3, h=2, n=21), production=dict(b=16, h=32, n=8192))  # fmt: skip
def packed_sums(file, device, b, h, n):
    lengths = tm.lengths(b, n)
    starts, x = tm.starts(lengths, device), tm.normal(b, h, n, device=device)
    there = torch.arange(n) < torch.tensor(lengths)[:, None]
    there = there[:, None].expand(b, h, n).to(device)

    def run():
        flat = file.flatten_varlen_lse(x, starts)
        return flat, torch.where(there, file.unflatten_varlen_lse(flat.T.contiguous(), starts, n), 0)  # fmt: skip

    def want():
        rows = [x[i, :, :length] for i, length in enumerate(lengths)]
        return torch.cat(rows, 1), torch.where(there, x, 0)

    return run, want
