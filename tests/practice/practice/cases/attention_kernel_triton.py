"""attention_kernel_triton: attention of one query, sixteen times over for the sake of the product,
to the pages of a cache or to some tokens of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("KiritoHugh/attention_kernel_triton", "666953f3636a4d42ecce80be4563504c727da9c0")  # fmt: skip
HALF = torch.float16


def _allowed(function: Callable[..., Any], *args: Any) -> Any:
    """With what Triton wants to be asked for since it refuses the kernels' global number."""
    with mock.patch.dict(os.environ, TRITON_ALLOW_NON_CONSTEXPR_GLOBALS="1"):
        return function(*args)


def _pages(b, heads, kv, most, d, size, device):
    """A query, the pages of keys and values, their table with its starts, and the lengths."""
    lengths = tm.lengths(b, most)
    counts = [-(-length // size) for length in lengths]
    q = tm.normal(b, heads, 1, d, device=device, dtype=HALF)
    cache = tm.normal(sum(counts), 2, kv, size, d, device=device, dtype=HALF)
    table = torch.randperm(sum(counts)).to(torch.int32).to(device)
    return q, cache, tm.starts(counts, device), table, lengths


def _attention(query, cache, pages, tokens):
    """query (H, 1, D); tokens (H, L): for each head the tokens that it sees."""
    k, v = cache[pages.long()].transpose(0, 1).transpose(1, 2).flatten(2, 3)  # (KV, all, D)
    groups = query.shape[0] // k.shape[0]
    at = tokens.long()[..., None].expand(-1, -1, k.shape[-1])
    k, v = (x.repeat_interleave(groups, 0).gather(1, at) for x in (k, v))
    return tm.attention(query, k, v)[0][:, 0]


@repository.case("decode_flash_attention_redundant_var_len_paged.py", "flash_attention_paged_kernel, inner_kernel", small=dict(b=3, heads=4, kv=2, most=70, d=32, size=16), production=dict(b=32, heads=32, kv=8, most=2048, d=128, size=16), rtol=1e-2, atol=2e-3)  # fmt: skip
def paged(file, device, b, heads, kv, most, d, size):
    q, cache, starts, table, lengths = _pages(b, heads, kv, most, d, size, device)
    last = torch.tensor([(n - 1) % size + 1 for n in lengths], dtype=torch.int32, device=device)

    def want():
        out = []
        for i, n in enumerate(lengths):
            tokens = torch.arange(n, device=device).expand(heads, n)
            out.append(_attention(q[i], cache, table[starts[i] : starts[i + 1]], tokens))
        return torch.stack(out)

    function = file.flash_attention_decode_paged
    return lambda: _allowed(function, q, cache, starts, table, last), want


@repository.case("sparsetoken_decode_flash_attention_redundant_var_len_paged.py", "sparsetoken_flash_attention_decode_paged_kernel", small=dict(b=3, heads=4, kv=2, most=70, d=32, size=16, kept=20), production=dict(b=32, heads=32, kv=8, most=8192, d=128, size=16, kept=1024), rtol=1e-2, atol=2e-3)  # fmt: skip
def paged_tokens(file, device, b, heads, kv, most, d, size, kept):
    q, cache, starts, table, lengths = _pages(b, heads, kv, most, d, size, device)
    counts = torch.tensor([[min(n, kept - h % 4) for h in range(heads)] for n in lengths])
    chosen = torch.zeros(b, heads, kept, dtype=torch.int32)
    for i, n in enumerate(lengths):
        for h in range(heads):
            chosen[i, h, : counts[i, h]] = torch.randperm(n)[: counts[i, h]]
    chosen = chosen.to(device)
    nnz = counts[..., None].to(torch.int32).to(device)

    def want():
        out = torch.empty(b, heads, d, dtype=torch.float64, device=device)
        for i in range(b):
            pages = table[starts[i] : starts[i + 1]]
            for h in range(heads):
                own = cache[:, :, h // (heads // kv)].unsqueeze(2)
                tokens = chosen[i, h : h + 1, : counts[i, h]]
                out[i, h] = _attention(q[i, h : h + 1], own, pages, tokens)[0]
        return out

    function = file.sparsetoken_flash_attention_decode_paged
    return lambda: _allowed(function, q, cache, starts, table, chosen, nnz), want
