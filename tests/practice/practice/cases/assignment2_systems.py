"""assignment2-systems: attention with block pointers, and its gradient in three kernels."""

from __future__ import annotations

import torch

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("vskogstad/assignment2-systems", "462ca1966f06ddeb7490439c978116adefeeefec", stand_ins={"einops": {}})  # fmt: skip


def _attention(causal, dtype, tolerance):
    @repository.case("cs336_systems/flash_attention2.py", "flash_fwd_kernel, flash_precompute_d, flash_bwd_dq, flash_bwd_kv", small=dict(b=2, n=256, d=32), production=dict(b=32, n=4096, d=64), rtol=tolerance, atol=tolerance, share=1e-4, name="causal" if causal else "full")  # fmt: skip
    def attention(file, device, b, n, d):
        q, k, v, out = (tm.normal(b, n, d, device=device, dtype=dtype) for _ in range(4))
        apply = file.TritonFlashAttentionAutogradFunction.apply
        return (
            lambda: tm.with_gradients(lambda *x: apply(*x, causal), out, q, k, v),
            lambda: tm.with_gradients(
                lambda *x: tm.attention(*x, causal=causal)[0], out, q, k, v, exact=True
            ),  # fmt: skip
        )


_attention(True, torch.float16, 3e-2)
_attention(False, torch.bfloat16, 6e-2)
