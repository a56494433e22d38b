"""S-LoRA: adapters of several ranks in a pool of pages, applied to the tokens of prompts."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "S-LoRA/S-LoRA", "c1ddf488781ea7f551cd0bb07bfd097124c93411", packages={"slora": "."},
)  # fmt: skip
FILE = "slora/models/peft/triton_kernel/lora/lora_prefill.py"
HALF = torch.float16
SIZES = dict(small=dict(b=3, m=40, d=256), production=dict(b=8, m=2048, d=4096))


def _pool(device, b, m, d, rank):
    """The pages of three adapters, each with 4 times its rank of rows, and where they are."""
    ranks = [rank, rank // 2, rank]
    starts = tm.starts([4 * r for r in ranks], device)[:-1].contiguous()
    pages = torch.randperm(4 * sum(ranks)).to(device)
    pool = tm.normal(4 * sum(ranks), d, device=device, dtype=HALF, scale=d**-0.5)
    lengths = tm.lengths(b, m)
    adapters = torch.arange(b) % 3
    at = tm.starts(lengths, device)
    numbers = [torch.tensor(x, dtype=torch.int32, device=device) for x in ([4 * r for r in ranks], lengths)]  # fmt: skip
    return ranks, starts, pages, pool, lengths, adapters, at, numbers


def _weights(pool, pages, start, rank, which):
    return pool[pages[start + which * rank : start + (which + 1) * rank]].double()


@repository.case(FILE, "_shrink_fwd_kernel", **SIZES, rtol=1e-2, atol=1e-2)
def shrunk(file, device, b, m, d, rank=32, which=1):
    ranks, starts, pages, pool, lengths, adapters, at, (sizes, given) = _pool(device, b, m, d, rank)
    x = tm.normal(sum(lengths), d, device=device, dtype=HALF)
    ids = adapters.to(torch.int32).to(device)

    def run():
        out = torch.zeros(len(x), rank, device=device, dtype=HALF)
        file.lora_get_qkvo_fwd_shrink(x, pool, out, pages, starts, sizes, at[:-1], given, ids, d, which, rank, m)  # fmt: skip
        return out

    def want():
        out = torch.zeros(len(x), rank, dtype=torch.float64, device=device)
        for i, a in enumerate(adapters.tolist()):
            w = _weights(pool, pages, int(starts[a]), ranks[a], which)
            out[at[i] : at[i + 1], : ranks[a]] = x[at[i] : at[i + 1]].double() @ w.T
        return out

    return run, want


@repository.case(FILE, "_expand_fwd_kernel", **SIZES, rtol=1e-2, atol=1e-2)
def expanded(file, device, b, m, d, rank=32, which=2):
    ranks, starts, pages, pool, lengths, adapters, at, (sizes, given) = _pool(device, b, m, d, rank)
    x = tm.normal(sum(lengths), rank, device=device, dtype=HALF)
    y = tm.normal(sum(lengths), d, device=device, dtype=HALF)
    scales = torch.tensor([0.5, 2.0, 1.0], device=device, dtype=HALF)
    ids = adapters.to(torch.int32).to(device)
    # Columns of x beyond an adapter's rank meet rows that are not loaded.

    def run():
        out = y.clone()
        file.lora_get_qkvo_fwd_expand(x, pool, out, scales, pages, starts, sizes, at[:-1], given, ids, d, which, rank, m)  # fmt: skip
        return out

    def want():
        out = y.double()
        for i, a in enumerate(adapters.tolist()):
            # The matrix of d rows and `rank` columns lies across the pages, row by row.
            w = _weights(pool, pages, int(starts[a]), ranks[a], which).reshape(d, ranks[a])
            mine = x[at[i] : at[i + 1], : ranks[a]].double()
            out[at[i] : at[i + 1]] += mine @ w.T * scales[a].double()
        return out

    return run, want
