"""infercache: chosen slots of a cache, and the slot of the least importance."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("ravirajb/infercache", "60a0cff0a8b8f7aa5daa88ed790e580886db4815")
FILE = "triton_ops.py"


@repository.case(FILE, "_gather_kv_kernel", small=dict(heads=3, slots=90, chosen=40, d=72), production=dict(heads=32, slots=32768, chosen=16384, d=128), rtol=0, atol=0)  # fmt: skip
def chosen_slots(file, device, heads, slots, chosen, d):
    cache = tm.normal(heads, slots, d, device=device, dtype=torch.float16)
    index = torch.randperm(slots)[:chosen].sort().values.to(device)

    def run():
        """The wrapper takes this path for tensors on a GPU only."""
        out = torch.empty(heads, chosen, d, dtype=cache.dtype, device=device)
        file._gather_kv_kernel[(heads, chosen)](
            cache, *cache.stride(), index, 1, out, *out.stride(),
            H=heads, D=d, BLOCK_D=1 << (d - 1).bit_length(),
        )  # fmt: skip
        return out

    return run, lambda: cache[:, index]


@repository.case(FILE, "_argmin_reduce", small=dict(n=1500), production=dict(n=8192))
def least_important(file, device, n):
    """Some are equal: the first one counts."""
    importance = torch.rand(n).mul(1000).round().to(device)
    start, count = n // 4, n // 2

    def run():
        index = torch.zeros(1, dtype=torch.int64, device=device)
        least = torch.zeros(1, device=device)
        file._argmin_reduce[(1,)](
            importance, index, least, start=start, N=count, BLOCK=1 << (count - 1).bit_length()
        )
        return index, least

    def want():
        part = importance[start : start + count]
        return (part == part.min()).nonzero()[0] + start, part.min()[None]

    return run, want
