"""MoA: attention over blocks from a table, over sinks and windows by head, and split decoding."""

from __future__ import annotations

import math

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("thu-nics/MoA", "e224fe3e00cf5e10a2fca36b52b026fc18669931")
PREFILL, BLOCK = "MoA/kernels/block_sparse_attention_prefill.py", 64
SIZES = dict(small=dict(b=1, h=2, n=300, d=64), production=dict(b=1, h=32, n=8192, d=128))
HALF = dict(rtol=2e-2, atol=2e-2)


def _blocks_seen(sinks, windows, blocks):
    """(heads, blocks, blocks): of each block of queries, the blocks of keys."""
    i, j = torch.arange(blocks)[:, None], torch.arange(blocks)
    return torch.stack([(j <= i) & ((j < s) | (j > i - w)) for s, w in zip(sinks, windows)])


def _prefill(call, arguments):
    def build(file, device, b, h, n, d):
        q, k, v = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(3))
        sinks = [1 + i % 2 for i in range(h)]
        windows = [2 + i % 3 * n // 512 for i in range(h)]
        seen = _blocks_seen(sinks, windows, -(-n // BLOCK))
        args = arguments(seen, sinks, windows, device)

        def want():
            fine = seen.repeat_interleave(BLOCK, 1).repeat_interleave(BLOCK, 2)[:, :n, :n]
            bias = torch.where(fine, 0.0, -math.inf).to(device)
            return tm.attention(q, k, v, causal=True, bias=bias)[0]

        return lambda: getattr(file, call).apply(q, k, v, d**-0.5, *args, BLOCK, BLOCK), want

    return build


def _table(seen, sinks, windows, device):
    """The blocks that each row sees, padded with its last one."""
    most, rows = int(seen.sum(-1).max()), []
    for row in seen.flatten(0, 1):
        found = row.nonzero()[:, 0].tolist()
        rows.append(found + found[-1:] * (most - len(found)))
    return (torch.tensor(rows).view(*seen.shape[:2], most).to(device),)


def _by_head(seen, sinks, windows, device):
    return [torch.tensor(x, device=device) for x in (sinks, windows)]


for _name, _call, _kernel, _arguments in (
    ("table", "_sparse_attention_prefill", "_sparse_attention_prefill_fwd_kernel", _table),
    ("sinks", "_sparse_attention_moa_prefill", "_sparse_attention_prefill_moa_fwd_kernel", _by_head),
):  # fmt: skip
    repository.case(PREFILL, _kernel, **SIZES, **HALF, name=_name)(_prefill(_call, _arguments))


@repository.case("MoA/kernels/flash_decoding_moa.py", "_moa_flash_decode_split_fwd_stage1, _attn_fwd_inner", small=dict(b=2, h=3, d=64, n=128), production=dict(b=8, h=32, d=128, n=2048), **HALF)  # fmt: skip
def decode(file, device, b, h, d, n):
    lengths = [n // (1 + i % 2) for i in range(h)]
    q = tm.normal(b, h, 1, d, device=device, dtype=torch.float16)
    k, v = (tm.normal(b, sum(lengths), d, device=device, dtype=torch.float16) for _ in range(2))
    starts = tm.starts(lengths, device, torch.int64)

    # What merges the parts, in torch, counts their sums twice: each part is compared alone.
    file._flash_decode_split_fwd_stage2 = lambda out, sums, logs, heads: out

    def want():
        heads = torch.arange(h, device=device).repeat_interleave(torch.tensor(lengths) // BLOCK)
        keys, values = (x.unflatten(1, (-1, BLOCK)) for x in (k, v))
        return tm.attention(q[:, heads], keys, values)[0]

    run = file._mixture_of_sparse_attention_decode.apply
    return lambda: run(q, k, v, starts, d**-0.5, False), want
