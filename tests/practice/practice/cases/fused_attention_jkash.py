"""jkash25's attention."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("jkash25/triton-fused-attention", "8c7de83b37d52eb2bcc7f4cd429d18cc3951c8df")  # fmt: skip


def _heads(*tensors):
    """A few heads at a time, to save memory."""
    return zip(*(x.flatten(0, 1).split(4) for x in tensors), strict=True)


def _case(file, device, b, h, n, d, causal):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=torch.float16) for _ in range(3))

    def want():
        rows = [tm.attention(*x, causal=causal)[0] for x in _heads(q, k, v)]
        return torch.cat(rows).view_as(q)

    return lambda: file.flash_attention_forward(q, k, v, causal), want


@repository.case("triton-fused-attention/src/kernel.py", "_fused_attention_fwd_kernel", small=dict(b=2, h=2, n=100, d=48), production=dict(b=4, h=16, n=4096, d=128), rtol=1e-2, atol=1e-3)  # fmt: skip
def causal_attention(file, device, b, h, n, d):
    return _case(file, device, b, h, n, d, True)


@repository.case("triton-fused-attention/src/kernel.py", "_fused_attention_fwd_kernel", small=dict(b=2, h=2, n=100, d=48), production=dict(b=4, h=16, n=4096, d=64), rtol=1e-2, atol=1e-3)  # fmt: skip
def attention(file, device, b, h, n, d):
    return _case(file, device, b, h, n, d, False)
