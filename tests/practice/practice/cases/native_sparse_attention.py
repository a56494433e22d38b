"""Native sparse attention: attention to the best blocks of keys, compressed keys, flash attention
of sequences of different lengths."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "XunhaoLai/native-sparse-attention-triton",
    "9bea856c911ebf263be88d797fb28458f82f1d94",
    packages={"native_sparse_attention": "."},
    stand_ins={"einops": {}},
)
FOLDER, HALF = "native_sparse_attention/ops/triton/", torch.float16
SMALL, LARGE = dict(lengths=[150, 70], h=4, hk=2, d=32), dict(lengths=[4096, 2000, 1000], h=64, hk=4, d=128)  # fmt: skip
BACKWARD = ", backward_sum_o_do, backward_dkdv, backward_dq"


def _heads(device, lengths, h, hk, d):
    n = sum(lengths)
    q, up = (tm.normal(n, h, d, device=device, dtype=HALF) for _ in range(2))
    k, v = (tm.normal(n, hk, d, device=device, dtype=HALF) for _ in range(2))
    return (q, k, v), up


def _parts(lengths, function):
    def run(q, k, v):
        parts = zip(*(t.split(lengths) for t in (q, k, v)), strict=True)
        return torch.cat([function(i, *p) for i, p in enumerate(parts)])

    return run


@repository.case(FOLDER + "flash_attention.py", "forward_kernel" + BACKWARD, small=SMALL, production=LARGE, rtol=2e-2, atol=2e-2)  # fmt: skip
def flash(file, device, lengths, h, hk, d):
    x, up = _heads(device, lengths, h, hk, d)
    starts = tm.starts(lengths, device)

    def ours(*x):
        return file.flash_attention_varlen(*x, starts, starts, max(lengths), max(lengths), True)

    def right(_, q, k, v):
        return tm.attention(*(t.transpose(0, 1) for t in (q, k, v)), causal=True)[0].transpose(0, 1)

    return (
        lambda: tm.with_gradients(ours, up, *x),
        lambda: tm.with_gradients(_parts(lengths, right), up, *x, exact=True),
    )


@repository.case(FOLDER + "topk_sparse_attention.py", "forward_kernel, count_kernel, pad_topk_idx_kernel, save_topk_idx_kernel" + BACKWARD, small=dict(SMALL, top=2, size=32), production=dict(LARGE, top=16, size=64), rtol=2e-2, atol=2e-2)  # fmt: skip
def best_blocks(file, device, lengths, h, hk, d, top, size):
    x, up = _heads(device, lengths, h, hk, d)
    starts = tm.starts(lengths, device)
    chosen = []
    for length in lengths:
        own = torch.arange(length) // size  # of the blocks before it, and always its own
        others = torch.stack([torch.randperm(-(-length // size)) for _ in range(hk * length)])
        others = others.view(hk, length, -1)
        others = others.masked_fill(others >= own[None, :, None], -1).sort(-1, descending=True)[0]
        chosen.append(torch.cat([own.expand(hk, -1)[..., None], others], -1)[..., :top])
    chosen = torch.cat(chosen, 1).to(torch.int32).to(device)
    chosen = chosen.sort(-1, descending=True)[0]
    chosen = torch.where(chosen < 0, -1, chosen).contiguous()

    def ours(*x):
        return file.topk_sparse_attention(*x, chosen, size, starts)

    def right(i, q, k, v):
        begin, length = sum(lengths[:i]), lengths[i]
        ids = chosen[:, begin : begin + length].long()
        blocks = torch.zeros(hk, length, -(-length // size) + 1, device=device)
        blocks.scatter_(-1, torch.where(ids < 0, blocks.shape[-1] - 1, ids), 1)
        seen = blocks[..., :-1].repeat_interleave(size, -1)[..., :length].tril() > 0
        bias = torch.zeros(hk, length, length, device=device, dtype=torch.float64)
        bias = bias.masked_fill(~seen, float("-inf")).repeat_interleave(h // hk, 0)
        heads = (t.transpose(0, 1) for t in (q, k, v))
        return tm.attention(*heads, bias=bias)[0].transpose(0, 1)

    return (
        lambda: tm.with_gradients(ours, up, *x),
        lambda: tm.with_gradients(_parts(lengths, right), up, *x, exact=True),
    )


@repository.case(FOLDER + "flash_attention_decode.py", "decode_kernel, rescale_kernel", small=dict(b=3, n=200, h=4, hk=2, d=32), production=dict(b=32, n=8192, h=64, hk=4, d=128), rtol=2e-2, atol=2e-2)  # fmt: skip
def decode(file, device, b, n, h, hk, d):
    q = tm.normal(b, h, d, device=device, dtype=HALF)
    k, v = (tm.normal(b, n, hk, d, device=device, dtype=HALF) for _ in range(2))
    lengths = torch.tensor(tm.lengths(b, n), dtype=torch.int32, device=device)

    def want():
        out = torch.zeros_like(q, dtype=torch.float64)
        for i, count in enumerate(lengths.tolist()):
            ks, vs = (t[i, :count].transpose(0, 1) for t in (k, v))
            out[i] = tm.attention(q[i, :, None], ks, vs)[0][:, 0]
        return out

    return lambda: file.flash_attention_decode(q, k, v, lengths), want
