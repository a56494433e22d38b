"""dkernel: attention to near blocks of keys and to some of the others, which differ among heads."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("linxihui/dkernel", "0d4e90e4ead038c8a0f318b9260522f0ca51f554", packages={"dkernel": "."}, inits=("dkernel.ops",))  # fmt: skip
FILE = "dkernel/interface.py"
HELPERS = "_load_with_2d_mask, _store_with_2d_mask"
PACKED = "_fwd_kernel_batch_inference, _fwd_kernel_inner"


def _pattern(h, t, block, near, stride):
    """Of an even number of blocks: two blocks of queries go together."""
    blocks = -(-t // (2 * block)) * 2
    i, j = torch.arange(blocks)[:, None], torch.arange(blocks)
    far = (j + torch.arange(h)[:, None, None]) % stride == 0
    return (j <= i) & ((j > i - near) | far)


def _bias(pattern, block, t):
    seen = pattern.repeat_interleave(block, -1).repeat_interleave(block, -2)[..., :t, :t]
    return torch.zeros(seen.shape).masked_fill(~(seen & torch.ones(t, t).tril().bool()), float("-inf"))  # fmt: skip


@repository.case(FILE, f"_sparse_fwd_kernel, _fwd_one_kv_block, _sparse_bwd_kernel, _bwd_preprocess, _bwd_kernel_dkdv, _bwd_inner_dkdv, _bwd_kernel_dq, _bwd_inner_dq, {HELPERS}", rtol=2e-2, atol=2e-2, small=dict(b=1, h=2, t=200, d=64, block=32, near=2, stride=3), production=dict(b=2, h=16, t=2048, d=128, block=64, near=8, stride=8))  # fmt: skip
def with_gradients(file, device, b, h, t, d, block, near, stride):
    q, k, v, up = (tm.normal(b, h, t, d, device=device, dtype=torch.float16) for _ in range(4))
    pattern = _pattern(h, t, block, near, stride)
    attention = file.SparseAttention(block, pattern, seq_dim=2).to(device)
    bias = _bias(pattern, block, t).to(device)
    return (
        lambda: tm.with_gradients(attention, up, q, k, v),
        lambda: tm.with_gradients(
            lambda *x: tm.attention(*x, bias=bias)[0], up, q, k, v, exact=True
        ),
    )


SIZES = dict(small=dict(count=3, most=150, h=4, kv=2, d=64, block=32, near=2, stride=3), production=dict(count=4, most=2048, h=32, kv=8, d=128, block=64, near=16, stride=8))  # fmt: skip


def _packed(file, device, decode, count, most, h, kv, d, block, near, stride):
    lengths = tm.lengths(count, most)
    queries = [1] * count if decode else lengths
    q = tm.normal(sum(queries), h, d, device=device, dtype=torch.float16)
    k, v = (tm.normal(sum(lengths), kv, d, device=device, dtype=torch.float16) for _ in range(2))
    pattern = _pattern(h, most, block, near, stride)
    attention = file.SparseAttention(block, pattern).to(device)
    of_k, of_q = tm.starts(lengths, device), tm.starts(queries, device)

    def want():
        out = []
        for a, b, c in zip(q.split(queries), k.split(lengths), v.split(lengths), strict=True):
            bias = _bias(pattern, block, len(b))[:, -len(a) :].to(device)
            out.append(tm.attention(*(x.transpose(0, 1) for x in (a, b, c)), bias=bias)[0])
        return torch.cat(out, 1).transpose(0, 1)

    return lambda: attention(q, k, v, cu_seqlen_k=of_k, cu_seqlen_q=of_q), want


@repository.case(FILE, PACKED, rtol=1e-2, atol=1e-2, **SIZES)  # fmt: skip
def packed_sequences(file, device, **size):
    return _packed(file, device, False, **size)


@repository.case(FILE, PACKED, rtol=1e-2, atol=1e-2, small=SIZES["small"], production=dict(SIZES["production"], count=16))  # fmt: skip
def decode(file, device, **size):
    return _packed(file, device, True, **size)
