"""FlexPrefill: attention to blocks of a flattened grid, to columns and diagonals of blocks, to the
first and the last keys; decoding in parts; pools of keys; RoPE by flipping halves."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "ByteDance-Seed/FlexPrefill", "a24b27bf117fd6ad4ba34b0db82c598e7786fd59",
    packages={"flex_prefill": ""}, stand_ins={"einops": {}, "flash_attn": {}, "transformers": {}},
)  # fmt: skip
OPS = "flex_prefill/ops"
BF16 = torch.bfloat16
LIMITS = dict(rtol=2e-2, atol=2e-2)


def _heads(device, b, n, h, kv, d, m=None):
    return (tm.normal(b, length, heads, d, device=device, dtype=BF16) for length, heads in ((n, h), (m or n, kv), (m or n, kv)))  # fmt: skip


def _attention(q, k, v, seen=None, causal=True):
    """Of tensors (b, n, h, d); ``seen`` says of each head which keys a query sees."""
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    bias = None if seen is None else torch.where(seen, 0.0, -torch.inf)
    return tm.attention(q, k, v, causal=causal, bias=bias)[0].transpose(1, 2)


@repository.case(f"{OPS}/flex_prefill_attention.py", "prefill_kernel", small=dict(b=1, n=150, h=4, kv=2, d=32), production=dict(b=1, n=16384, h=32, kv=8, d=128), **LIMITS)  # fmt: skip
def prefill(file, device, b, n, h, kv, d):
    q, k, v = _heads(device, b, n, h, kv, d)
    return lambda: file.triton_flash_prefill(q, k, v), lambda: _attention(q, k, v)


@repository.case(f"{OPS}/flex_prefill_attention.py", "decode_kernel, rescale_kernel", small=dict(b=2, n=300, h=4, kv=2, d=32), production=dict(b=2, n=32768, h=32, kv=8, d=128), **LIMITS)  # fmt: skip
def decode(file, device, b, n, h, kv, d):
    q, k, v = _heads(device, b, 1, h, kv, d, n)
    return lambda: file.triton_flash_decode(q, k, v), lambda: _attention(q, k, v)


def _blocks(device, b, h, count, share):
    """Of each head as many blocks on or below the diagonal, all of it among them."""
    rows, columns = torch.tril_indices(count, count)
    flat, on = rows * count + columns, rows == columns
    some = int((~on).sum() * share)
    picked = [
        torch.cat([flat[on], flat[~on][torch.randperm(int((~on).sum()))[:some]]]).sort().values
        for _ in range(b * h)
    ]
    return torch.stack(picked).view(b, h, -1).to(device)


def _seen(index, count, block, n):
    b, h, _ = index.shape
    mask = torch.zeros(b, h, count * count, dtype=torch.bool, device=index.device)
    mask = mask.scatter_(-1, index, True).view(b, h, count, count)
    return mask.repeat_interleave(block, 2).repeat_interleave(block, 3)[..., :n, :n]


# count_kernel gives tl.histogram -1 for what is behind the end, and has a bin too many for it.
@repository.case(f"{OPS}/flex_prefill_attention.py", "block_wise_prefill_attention_kernel, count_kernel", small=dict(b=1, n=200, h=2, kv=1, d=32, block=32), production=dict(b=1, n=16384, h=32, kv=8, d=128, block=128), **LIMITS, finds="device-assert")  # fmt: skip
def blocks_of_grid(file, device, b, n, h, kv, d, block):
    q, k, v = _heads(device, b, n, h, kv, d)
    count = -(-n // block)
    index = _blocks(device, b, h, count, 0.3)
    return (
        lambda: file.triton_block_wise_prefill_attention(q, k, v, index, block),
        lambda: _attention(q, k, v, _seen(index, count, block, n)),
    )


@repository.case(f"{OPS}/flex_prefill_attention.py", "block_wise_decode_attention_kernel", small=dict(b=2, n=256, h=4, kv=2, d=32, block=32), production=dict(b=2, n=32768, h=32, kv=8, d=128, block=128), **LIMITS)  # fmt: skip
def decode_blocks(file, device, b, n, h, kv, d, block):
    q, k, v = _heads(device, b, 1, h, kv, d, n)
    count = n // block
    index = torch.rand(b, h, count).topk(max(2, count // 3)).indices.sort(dim=-1).values.to(device)
    seen = torch.zeros(b, h, count, dtype=torch.bool, device=device).scatter_(-1, index, True)

    def run():  # its wrapper gives one argument too many
        out, scale = torch.empty_like(q), d**-0.5 * 1.4426950408889634
        file.block_wise_decode_attention_kernel[(b, h)](
            q, k, v, out, index, b, h, kv, h // kv, n, d, index.shape[-1], scale, False,
            *q.stride(), *k.stride(), *v.stride(), *out.stride(), *index.stride(),
            BLOCK_SIZE_Q=16, BLOCK_SIZE_K=block, num_warps=8, num_stages=3,
        )  # fmt: skip
        return out

    return run, lambda: _attention(q, k, v, seen.repeat_interleave(block, -1)[:, :, None])


@repository.case(f"{OPS}/flex_prefill_attention.py", "count_kernel", small=dict(b=2, h=3, count=9), production=dict(b=1, h=32, count=512), finds="device-assert")  # fmt: skip
def rows_of_blocks(file, device, b, h, count):
    index = _blocks(device, b, h, count, 0.4)

    def want():
        rows = torch.zeros(b, h, count + 1, dtype=torch.int64, device=device)
        return rows.scatter_add_(-1, index // count + 1, torch.ones_like(index)).cumsum(-1)

    return lambda: file.triton_column_count_cumsum(index, count), want


for _kind in ("avg", "max", "maxabs"):

    @repository.case(f"{OPS}/flex_prefill_attention.py", "bnhd_pool_kernel", small=dict(b=2, n=96, h=3, d=16, size=32), production=dict(b=1, n=16384, h=32, d=128, size=128), rtol=1e-2, atol=1e-2, name=f"pool_{_kind}")  # fmt: skip
    def pool(file, device, b, n, h, d, size, kind=_kind):
        x = tm.normal(b, n, h, d, device=device, dtype=BF16)
        functions = {"avg": lambda p: p.mean(1), "max": lambda p: p.amax(1), "maxabs": lambda p: p.abs().amax(1)}  # fmt: skip
        return (
            lambda: file.triton_bnhd_pool(x, size, kind),
            lambda: torch.stack([functions[kind](part) for part in x.double().split(size, 1)], 1),
        )


@repository.case(f"{OPS}/flex_prefill_attention.py", "bhn_sumpool_kernel", small=dict(b=2, h=3, n=100, size=32), production=dict(b=1, h=32, n=65536, size=128), rtol=1e-4)  # fmt: skip
def sum_pool(file, device, b, h, n, size):
    x = tm.normal(b, h, n, device=device)
    return (
        lambda: file.triton_bhn_sumpool(x, size),
        lambda: torch.stack([part.double().sum(-1) for part in x.split(size, -1)], -1),
    )


@repository.case(f"{OPS}/streaming_llm_attention.py", "streaming_attention_kernel", small=dict(b=1, n=200, h=2, kv=1, d=32, first=20, last=50), production=dict(b=1, n=32768, h=32, kv=8, d=128, first=128, last=4096), **LIMITS)  # fmt: skip
def first_and_last_keys(file, device, b, n, h, kv, d, first, last):
    q, k, v = _heads(device, b, n, h, kv, d)
    at = torch.arange(n, device=device)
    seen = (at[:, None] < at + last) | (at < first)
    return lambda: file.streaming_llm_attention(q, k, v, first, last), lambda: _attention(q, k, v, seen)  # fmt: skip


@repository.case(f"{OPS}/vertical_slash_attention.py", "vertical_slash_attention_kernel", small=dict(b=1, n=200, h=2, kv=1, d=32, block=32), production=dict(b=1, n=16384, h=32, kv=8, d=128, block=128), **LIMITS)  # fmt: skip
def columns_and_diagonals(file, device, b, n, h, kv, d, block):
    q, k, v = _heads(device, b, n, h, kv, d)
    count = -(-n // block)
    columns, diagonals = (torch.stack([torch.cat([torch.zeros(1, dtype=torch.int64), 1 + torch.randperm(count - 1)[: count // 3]]) for _ in range(b * h)]).view(b, h, -1).to(device) for _ in range(2))  # fmt: skip

    def want():
        seen = torch.zeros(b, h, count, count, dtype=torch.bool, device=device)
        row, column = (torch.arange(count, device=device)[s] for s in ((slice(None), None), (None,)))  # fmt: skip
        for i in range(columns.shape[-1]):
            seen |= column == columns[..., i, None, None]
            seen |= row - column == diagonals[..., i, None, None]
        seen = seen.repeat_interleave(block, 2).repeat_interleave(block, 3)[..., :n, :n]
        return _attention(q, k, v, seen)

    return lambda: file.triton_vertical_slash_attention(q, k, v, block, columns, diagonals), want


@repository.case("flex_prefill/modules/llama/apply_rope.py", "rotate_half_kernel, apply_rotary_pos_emb_kernel", small=dict(b=2, h=3, n=150, d=32), production=dict(b=1, h=32, n=32768, d=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def rope(file, device, b, h, n, d):
    q, k = (tm.normal(b, h, n, d, device=device, dtype=BF16) for _ in range(2))
    angles = torch.rand(b, n, d // 2).repeat(1, 1, 2)
    cos, sin = (f(angles).to(BF16).to(device) for f in (torch.cos, torch.sin))

    def turned(x):
        return torch.cat([-x[..., d // 2 :], x[..., : d // 2]], -1)

    def want():
        both = (x.double() * cos[:, None].double() + turned(x.double()) * sin[:, None].double() for x in (q, k))  # fmt: skip
        return turned(q), *both

    def run():
        half = file.triton_rotate_half(q)
        return half, *file.triton_apply_rotary_pos_emb(q.clone(), k.clone(), cos, sin)

    return run, want
