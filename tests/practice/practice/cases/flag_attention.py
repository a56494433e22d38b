"""FlagAttention: flash, piecewise, paged and split-KV attention."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "FlagOpen/FlagAttention",
    "ee91638dec6da8c00c4113d179f469e0ffcd5852",
    packages={"flag_attn": "src"},
    inits=("flag_attn",),
)
FLASH, HALF = "src/flag_attn/flash.py", torch.float16
# With fewer programs than an H100 has place for, keys are split, and a part that a row sees nothing
# of gives NaN where attention is causal.
SMALL, LARGE = dict(b=2, h=16, hk=4, m=150, n=200, d=32), dict(b=2, h=32, hk=8, m=4096, n=4096, d=128)  # fmt: skip


def _heads(device, b, h, hk, m, n, d):
    q, up = (tm.normal(b, h, m, d, device=device, dtype=HALF) for _ in range(2))
    k, v = (tm.normal(b, hk, n, d, device=device, dtype=HALF) for _ in range(2))
    return q, k, v, up


def _flash(causal):
    def build(file, device, **size):
        *x, up = _heads(device, **size)
        return (
            lambda: tm.with_gradients(lambda *x: file.attention(*x, causal=causal), up, *x),
            lambda: tm.with_gradients(
                lambda *x: tm.attention(*x, causal=causal)[0], up, *x, exact=True
            ),
        )

    return build


KERNELS = "_fwd_kernel, _bwd_preprocess, _bwd_kv_kernel, _bwd_q_kernel"
for name, causal in (("flash", False), ("flash_causal", True)):
    repository.case(FLASH, KERNELS, small=SMALL, production=LARGE, rtol=2e-2, atol=2e-2, name=name)(_flash(causal))  # fmt: skip


@repository.case(FLASH, "_fwd_kernel, _total_attention_kernel", small=SMALL, production=LARGE, rtol=2e-2, atol=2e-2)  # fmt: skip
def flash_totals(file, device, **size):
    q, k, v, _ = _heads(device, **size)

    def run():
        return file.attention(
            q, k, v, causal=True, return_log_normalizer=True, return_total_attention=True
        )[:3]

    def want():
        o, logs = tm.attention(q, k, v, causal=True)
        keys = torch.eye(k.shape[2], device=device).expand(*k.shape[:2], -1, -1)
        return o, logs, tm.attention(q, k, keys, causal=True)[0].sum(-2)

    return run, want


@repository.case("src/flag_attn/split_kv.py", "_fwd_split_kv_kernel, _fwd_combine_kv_splits", small=dict(SMALL, m=1, n=700), production=dict(LARGE, m=1, n=16384), rtol=2e-2, atol=2e-2)  # fmt: skip
def split_kv(file, device, **size):
    q, k, v, _ = _heads(device, **size)
    return lambda: file.attention(q, k, v), lambda: tm.attention(q, k, v)[0]


@repository.case("src/flag_attn/piecewise.py", KERNELS, small=dict(b=1, h=2, n=150, d=32, w=60), production=dict(b=2, h=16, n=4096, d=128, w=2048), rtol=2e-2, atol=2e-2)  # fmt: skip
def piecewise(file, device, b, h, n, d, w):
    *x, up = (tm.normal(b, h, n, d, device=device, dtype=HALF) for _ in range(6))

    def right(q1, k1, q2, k2, v):
        rows, columns = (torch.arange(n, device=device)[i] for i in ((..., None), (None, ...)))
        s = torch.where(rows - columns >= w, q2 @ k2.mT, q1 @ k1.mT) * d**-0.5
        return s.masked_fill(columns > rows, float("-inf")).softmax(-1) @ v

    return (
        lambda: tm.with_gradients(lambda *x: file.attention(*x, w, causal=True), up, *x),
        lambda: tm.with_gradients(right, up, *x, exact=True),
    )


def _paged(splits):
    def build(file, device, batch, h, hk, d, block, length):
        q = tm.normal(batch, h, d, device=device, dtype=HALF)
        pages = -(-length // block)
        k, v = (tm.normal(batch * pages, hk, block, d, device=device, dtype=HALF) for _ in range(2))
        table = torch.randperm(batch * pages).view(batch, pages).to(torch.int32).to(device)
        lengths = torch.tensor(tm.lengths(batch, length), dtype=torch.int32, device=device)

        def want():
            out = torch.zeros_like(q, dtype=torch.float64)
            for i, count in enumerate(lengths.tolist()):
                ks, vs = (c[table[i].long()].transpose(0, 1).flatten(1, 2)[:, :count] for c in (k, v))  # fmt: skip
                out[i] = tm.attention(q[i, :, None], ks, vs)[0][:, 0]
            return out

        return lambda: file.attention(q, k, v, lengths, table, d**-0.5, length, splits), want

    return build


PAGED = dict(small=dict(batch=3, h=4, hk=2, d=32, block=16, length=200), production=dict(batch=64, h=32, hk=8, d=128, block=16, length=8192), rtol=2e-2, atol=2e-2)  # fmt: skip
repository.case("src/flag_attn/paged.py", "_paged_attn_kernel", name="paged", **PAGED)(_paged(1))
repository.case("src/flag_attn/paged.py", "_paged_attn_kernel, _paged_attn_v2_reduce_kernel", name="paged_split", **PAGED)(_paged(4))  # fmt: skip
