"""Speculative tree search: weights become 4-bit ones in groups of 64, two of which share their
bytes, and attention of one query to keys that a table points at."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("hongyihuang/spec-mcts", "d1906991755cfdc59332764cb8b2b2b9c2b647d4")
FILE = "triton_kernels.py"
HALF = torch.float16


# Dividing in float32 decides a rounding where two values are equally near.
@repository.case(FILE, "q_int40_kernel", small=dict(k=30, n=256), production=dict(k=8192, n=8192), rtol=1e-5, atol=1e-6, share=1e-4)  # fmt: skip
def quantised(file, device, k, n):
    """A value is rounded towards zero, after a half is added."""
    w = tm.normal(k, n, device=device)

    def run():
        packed, scales = file.triton_q_int40(w, 64)
        return packed >> 4, packed << 4 >> 4, scales

    def want():
        groups = w.double().view(-1, 64)
        scales = groups.abs().amax(1, keepdim=True) / 7
        high, low = (groups / scales + 0.5).trunc().view(-1, 2, 64).unbind(1)
        return high, low, scales

    return run, want


# The running sums are in float16.
@repository.case(FILE, "page_flash_attn_kernel", small=dict(b=3, heads=2, keys=40, pages=100, d=64), production=dict(b=64, heads=32, keys=512, pages=8192, d=128), rtol=3e-2, atol=1e-2, share=1e-3)  # fmt: skip
def paged_attention(file, device, b, heads, keys, pages, d):
    q = tm.normal(b, heads, d, device=device, dtype=HALF)
    k, v = (tm.normal(heads, pages, d, device=device, dtype=HALF) for _ in range(2))
    table = tm.integers(0, pages, b, keys, device=device, dtype=torch.int32)

    def run():
        out = torch.empty_like(q)
        file.page_flash_attn_kernel[(b, heads)](
            table, q, k, v, out, d**-0.5, table.stride(0), q.stride(0), k.stride(0), v.stride(0),
            out.stride(0), pages, b, keys, heads, d,
        )  # fmt: skip
        return out

    def want():
        out = []
        for row, query in zip(table.long(), q, strict=True):
            out.append(tm.attention(query[:, None], k[:, row], v[:, row])[0][:, 0])
        return torch.stack(out)

    return run, want
