"""ring-sliding-window-attention: partial results of attention are merged by their sums."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "XunhaoLai/ring-sliding-window-attention",
    "f571258c58822fd98ba2c6f4577a2a0eb9729ead",
)


@repository.case("ring_swa/ops/merge.py", "_merge_attn_out_kernel", rtol=1e-4, atol=1e-4, small=dict(b=2, n=100, h=3, d=48), production=dict(b=2, n=16384, h=32, d=128))  # fmt: skip
def merge(file, device, b, n, h, d):
    x, y = tm.normal(b, n, h, d, device=device), tm.normal(b, n, h, d, device=device, dtype=torch.bfloat16)  # fmt: skip
    total, other = (tm.normal(b, h, n, device=device, scale=3.0) for _ in range(2))

    def run():
        out, sums = x.clone(), total.clone()
        file.triton_merge_attn_out(out, sums, y, other)
        return out, sums

    def want():
        weight = (other - total).double().sigmoid().transpose(1, 2)[..., None]
        out = x.double() * (1 - weight) + y.double() * weight
        return out, torch.logaddexp(total.double(), other.double())

    return run, want
