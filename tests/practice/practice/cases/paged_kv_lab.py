"""Paged KV attention lab: attention of one query to the blocks of a cache, in parts that a second
kernel puts together."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "at0rp1d0i-cell/paged-kv-attention-kernel-lab",
    "396bed40212ab818180e22d74c1621ee90938f62",
    packages={"paged_kv_attention": "src"},
)
FILE = "src/paged_kv_attention/triton_decode.py"
D = 128


def _cache(b, heads, most, size, device):
    """A query, keys and values in blocks, the table of the blocks and the lengths."""
    lengths = tm.lengths(b, most)
    columns = -(-most // size)
    q = tm.normal(b, heads, D, device=device, dtype=torch.float16)
    k, v = (
        tm.normal(b * columns, size, heads, D, device=device, dtype=torch.float16) for _ in range(2)
    )
    table = torch.randperm(b * columns).view(b, columns).to(torch.int32).to(device)
    return q, k, v, table, torch.tensor(lengths, dtype=torch.int32, device=device)


def _want(q, k, v, table, lengths):
    out = []
    for query, row, length in zip(q, table.long(), lengths.tolist(), strict=True):
        keys, values = (x[row].flatten(0, 1)[:length].transpose(0, 1) for x in (k, v))
        out.append(tm.attention(query[:, None], keys, values)[0][:, 0])
    return torch.stack(out)


@repository.case(FILE, "_paged_decode_attention_kernel", small=dict(b=3, heads=2, most=150, size=16), production=dict(b=32, heads=32, most=2048, size=16), rtol=1e-3, atol=1e-3)  # fmt: skip
def attention(file, device, b, heads, most, size):
    inputs = _cache(b, heads, most, size, device)
    return (
        lambda: file.paged_decode_attention_triton(*inputs, block_size=size),
        lambda: _want(*inputs),
    )


@repository.case(FILE, "_paged_decode_attention_split_partial_kernel, _paged_decode_attention_split_reduce_kernel", small=dict(b=3, heads=2, most=150, size=16, parts=4), production=dict(b=4, heads=32, most=8192, size=16, parts=16), rtol=1e-3, atol=1e-3)  # fmt: skip
def attention_in_parts(file, device, b, heads, most, size, parts):
    inputs = _cache(b, heads, most, size, device)

    def run():
        return file.paged_decode_attention_split_triton(
            *inputs, block_size=size, num_splits=parts, block_t=64
        )

    return run, lambda: _want(*inputs)
