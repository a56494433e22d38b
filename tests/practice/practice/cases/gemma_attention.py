"""gemma-triton-flash-attn: grouped heads of 256 and 512, windows, and their gradients."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "zzhhjjj/gemma-triton-flash-attn", "ad520fa61d2fb0066ca8fb99aad985193471b3e8"
)
FILE = "flash_attn/attention.py"
FORWARD = "_flash_attn_gqa_kernel"
BACKWARD = "_flash_attn_gqa_kernel, _flash_attn_gqa_bwd_dq_kernel, _flash_attn_gqa_bwd_dkv_packed_kernel"  # fmt: skip


def _case(name, window, backward, small, production, dtype=torch.float16):
    def build(file, device, b, hq, hk, n, d):
        size = window and max(window * n // 4096, 1)
        q, up = (tm.normal(b, hq, n, d, device=device, dtype=dtype) for _ in range(2))
        k, v = (tm.normal(b, hk, n, d, device=device, dtype=dtype) for _ in range(2))

        def right(q, k, v):
            return tm.attention(q, k, v, causal=True, window=size or None)[0]

        if not backward:
            return lambda: file.attention_flash_gqa(q, k, v, True, size), lambda: right(q, k, v)
        return (
            lambda: tm.with_gradients(
                lambda *x: file.flash_attn_gqa_train(*x, True, size), up, q, k, v
            ),
            lambda: tm.with_gradients(right, up.double(), q, k, v, exact=True),
        )

    repository.case(FILE, BACKWARD if backward else FORWARD, rtol=2e-2, atol=3e-2, share=1e-3, name=name, small=small, production=production)(build)  # fmt: skip


_case("full", 0, False, dict(b=1, hq=4, hk=2, n=150, d=64), dict(b=1, hq=16, hk=2, n=4096, d=512))
_case("window", 1024, False, dict(b=1, hq=4, hk=2, n=200, d=64), dict(b=2, hq=16, hk=8, n=4096, d=256))  # fmt: skip
_case("full_gradient", 0, True, dict(b=1, hq=4, hk=2, n=150, d=32), dict(b=1, hq=8, hk=1, n=4096, d=512))  # fmt: skip
_case("window_gradient", 1024, True, dict(b=1, hq=4, hk=2, n=200, d=32), dict(b=1, hq=8, hk=4, n=4096, d=256))  # fmt: skip
