"""triton-mla: decoding of multi-head latent attention from pages, split and joined again."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("zack041/triton-mla", "cb4f744f01f538dc2c3b24f3db67227ffe5eb908")


@repository.case("mla.py", "decode_split_kernel, reduce_split_kernel", small=dict(b=2, h=20, n=700, d=64, r=32, splits=4), production=dict(b=64, h=16, n=4096, d=512, r=64, splits=16), rtol=1e-2, atol=1e-2)  # fmt: skip
def decode(file, device, b, h, n, d, r, splits):
    lengths = tm.lengths(b, n, 3)
    q = tm.normal(b, h, d + r, device=device, dtype=torch.bfloat16, scale=0.5)
    pages = -(-n // 64)
    cache = tm.normal(b * pages, 64, d + r, device=device, dtype=torch.bfloat16)
    table = torch.randperm(b * pages).to(torch.int32).view(b, pages).to(device)
    sizes, scale = torch.tensor(lengths, dtype=torch.int32).to(device), (d + r) ** -0.5

    def run():
        out, lse = torch.zeros(b, h, d, device=device), torch.zeros(b, h, device=device)
        slots = b * -(-h // 16) * splits
        parts = torch.zeros(slots, 16, d, device=device)
        most, sums = (torch.zeros(slots, 16, device=device) for _ in range(2))
        return file.fwd_mla(q, cache, out, lse, table, sizes, 64, parts, most, sums, scale, max_kv_splits=splits, D_NOPE=d, D_ROPE=r)  # fmt: skip

    def want():
        rows = [cache[table[i].long()].flatten(0, 1)[None, :m] for i, m in enumerate(lengths)]
        found = [tm.attention(q[i][:, None], x, x[..., :d], scale) for i, x in enumerate(rows)]
        return torch.stack([o[:, 0] for o, _ in found]), torch.stack([s[:, 0] for _, s in found])

    return run, want
