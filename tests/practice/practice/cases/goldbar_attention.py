"""goldbar123467's attention."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("goldbar123467/triton-kernel", "7fadc79098e46bc3adfd550d07f714346fe90a95")


def _heads(*tensors):
    """A few heads at a time, to save memory."""
    return zip(*(x.flatten(0, 1).split(4) for x in tensors), strict=True)


def _case(file, device, b, h, n, d, dtype):
    q, k, v = (tm.normal(b, h, n, d, device=device, dtype=dtype) for _ in range(3))
    return (
        lambda: file.flash_attention_forward(q, k, v),
        lambda: torch.cat([tm.attention(*x)[0] for x in _heads(q, k, v)]).view_as(q),
    )


@repository.case("core/flash_attn.py", "flash_attn_fwd", small=dict(b=2, h=2, n=100, d=40), production=dict(b=4, h=16, n=4096, d=64), rtol=1e-2, atol=1e-3)  # fmt: skip
def attention_fp16(file, device, b, h, n, d):
    return _case(file, device, b, h, n, d, torch.float16)


@repository.case("core/flash_attn.py", "flash_attn_fwd", small=dict(b=2, h=2, n=100, d=40), production=dict(b=4, h=16, n=2048, d=128), rtol=2e-2, atol=8e-3)  # fmt: skip
def attention_bf16(file, device, b, h, n, d):
    return _case(file, device, b, h, n, d, torch.bfloat16)
