"""Nano-vLLM: keys and values go to the slots of a cache."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "GeeeekExplorer/nano-vllm",
    "bb823b3e06983d71485a8e1f23715ebd87d98ef8",
    stand_ins={"flash_attn": {}, "nanovllm": {}, "nanovllm.utils.context": {}},
)


@repository.case("nanovllm/layers/attention.py", "store_kvcache_kernel", rtol=0, atol=0, small=dict(n=50, h=2, d=64, blocks=5, size=16), production=dict(n=16384, h=8, d=128, blocks=256, size=256))  # fmt: skip
def store(file, device, n, h, d, blocks, size):
    qkv = tm.normal(n, 4, h, d, device=device, dtype=torch.bfloat16)
    k, v = qkv[:, 2], qkv[:, 3]
    slots = torch.randperm(blocks * size)[:n].to(torch.int32)
    slots[::7] = -1
    slots = slots.to(device)

    def run():
        caches = [torch.zeros(blocks, size, h, d, device=device, dtype=k.dtype) for _ in range(2)]
        file.store_kvcache(k, v, *(cache.view(blocks, size, h * d) for cache in caches), slots)
        return caches

    def want():
        used = slots >= 0
        return [
            torch.zeros(blocks * size, h, d, device=device, dtype=k.dtype)
            .index_copy(0, slots[used].long(), x[used])
            .view(blocks, size, h, d)
            for x in (k, v)
        ]

    return run, want
