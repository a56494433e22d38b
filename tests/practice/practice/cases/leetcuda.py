"""LeetCUDA: partial results of attention are merged by their sums, in two ways."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "xlite-dev/LeetCUDA",
    "cb6a0497e829741fc5e3ad5e43a5beed0d85edcd",
)
FILE = "kernels/openai-triton/merge-attn-states/triton_merge_attn_states.py"


def _merge(name, kernel):
    def build(file, device, n, h, d):
        x, y = (tm.normal(n, h, d, device=device, dtype=torch.float16) for _ in range(2))
        a, b = (tm.normal(h, n, device=device, scale=3.0) for _ in range(2))
        a[:, ::5] = torch.inf  # no key was seen there
        weight = (b - a).double().sigmoid().T[..., None].masked_fill(a.T[..., None].isinf(), 1)

        def run():
            out, total = torch.empty_like(x), torch.empty_like(a)
            padded = file.triton.next_power_of_2(d)
            getattr(file, kernel)[n, h](out, total, x, a, y, b, d, padded, True)
            return out, total

        def want():
            total = torch.logaddexp(a.double().masked_fill(a.isinf(), -torch.inf), b.double())
            return x.double() * (1 - weight) + y.double() * weight, total

        return run, want

    repository.case(FILE, kernel, name=name, rtol=1e-2, atol=1e-3, small=dict(n=30, h=3, d=80), production=dict(n=16384, h=32, d=128))(build)  # fmt: skip


_merge("merge", "merge_attn_states_kernel")
_merge("merge_past_l1", "merge_attn_states_kernel_opt")
