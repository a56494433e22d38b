"""ParrotServe: decoding where all sequences share a paged prefix."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("microsoft/ParrotServe", "2e1825ee2bc38cb783bab9d8ec3e5ae99a93ba46", stand_ins={"vllm": {}, "parrot": {}})  # fmt: skip


# The reduction stores its factors and loads them in another layout, with no barrier in between.
@repository.case("parrot/engine/builtin/kernels/shared_flash_decoding.py", "_fwd_kernel_v2, _reduce_kernel", rtol=1e-2, atol=1e-2, finds="race-warp-order", small=dict(seqs=20, heads=3, d=32, n=700), production=dict(seqs=64, heads=40, d=128, n=8192))  # fmt: skip
def shared_prefix(file, device, seqs, heads, d, n):
    q = tm.normal(seqs, heads, d, device=device, dtype=torch.float16)
    k, v = (tm.normal(-(-n // 16), heads, d, 16, device=device, dtype=torch.float16) for _ in range(2))  # fmt: skip
    blocked = k.view(-1, heads, d // 8, 8, 16).transpose(-1, -2).contiguous()
    table = torch.randperm(len(k)).to(torch.int32).to(device)
    heads_of = torch.arange(heads, dtype=torch.int32).to(device)

    def run():
        most, sums = (torch.zeros(seqs, heads, device=device) for _ in range(2))
        out = torch.empty_like(q)
        file.triton_flash_attention(q, blocked, v, heads_of, n, most, sums, table, out, False, True)  # fmt: skip
        return out, most + sums.log2()

    def want():
        keys, values = (x[table.long()].permute(1, 0, 3, 2).flatten(1, 2)[:, :n] for x in (k, v))
        out, lse = tm.attention(q.transpose(0, 1), keys, values)
        return out.transpose(0, 1), lse.T * 1.4426950408889634

    return run, want
