"""FlashMoBA: means of blocks of keys of packed sequences, for the choice of blocks to attend to."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("mit-han-lab/flash-moba", "39d9ac043b271d046a2181a9991e99a26b67bca1", packages={"flash_moba": "."})  # fmt: skip


@repository.case("flash_moba/triton_mean_pool.py", "mean_pool_kernel", rtol=1e-2, atol=1e-2, small=dict(count=3, most=150, heads=2, d=64, block=48), production=dict(count=8, most=8192, heads=8, d=128, block=128))  # fmt: skip
def means_of_blocks(file, device, count, most, heads, d, block):
    lengths = tm.lengths(count, most)
    keys = tm.normal(sum(lengths), heads, d, device=device, dtype=torch.bfloat16)
    begin = tm.starts(lengths, device)

    def want():
        parts = [part.double() for part in keys.split(lengths)]
        means = [b.mean(0) for part in parts for b in part.split(block)]
        return torch.stack(means), tm.starts([-(-x // block) for x in lengths], device)

    return lambda: file.flash_topk_mean_pool(keys, begin, most, block)[:2], want
