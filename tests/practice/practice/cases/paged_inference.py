"""paged-inference-engine: attention of prompts over pages of int8 keys and values."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("VrajPatel105/paged-inference-engine", "e28ce7e57a2d737743900b2c9ae3960942e614f8")  # fmt: skip


@repository.case("kernels/flash_attention.py", "flash_attention_kernel", small=dict(lengths=(50, 21), h=2, d=32, page=16), production=dict(lengths=(2048, 1500, 900, 2000), h=16, d=128, page=64), rtol=2e-2, atol=3e-2)  # fmt: skip
def prompts(file, device, lengths, h, d, page):
    b, most = len(lengths), max(lengths)
    each = -(-most // page)
    query = tm.normal(b, h, most, d, device=device)
    cache = [tm.integers(-127, 128, b * each, page, h, d, device=device, dtype=torch.int8) for _ in range(2)]  # fmt: skip
    scales = [((torch.rand(b * each, h) + 0.5) / 100).to(device) for _ in range(2)]
    tables = torch.randperm(b * each).view(b, each).to(torch.int32).to(device)
    counts = torch.tensor(lengths, dtype=torch.int32).to(device)

    def run():
        pages = (counts + page - 1) // page
        out, sums = file.flash_attention_forward(query, *cache, counts, tables, pages, page, counts, *scales)  # fmt: skip
        return [x[i, :, :n] for i, n in enumerate(lengths) for x in (out, sums)]

    def want():
        rows = []
        for i, n in enumerate(lengths):
            ids = tables[i].long()
            k, v = ((x[ids].double() * s[ids, None, :, None].double()).flatten(0, 1)[:n].transpose(0, 1) for x, s in zip(cache, scales, strict=True))  # fmt: skip
            rows.extend(tm.attention(query[i, :, :n], k, v, causal=True))
        return rows

    return run, want
