"""triton-3d-kernels: attention and its gradients, in kernels without atomics."""

from __future__ import annotations

from practice import torch_math as tm
from practice.case import Repository

repository = Repository("iambhuvan/triton-3d-kernels", "86b870a6c3024db5fe687881c64701691872eae9")


@repository.case("kernels/flash_attn_v2.py", "_flash_attn_v2_fwd, _flash_attn_v2_bwd_dkdv, _flash_attn_v2_bwd_dq", small=dict(b=1, heads=2, t=150, d=32), production=dict(b=1, heads=16, t=2048, d=64), rtol=2e-2, atol=2e-2)  # fmt: skip
def gradients(file, device, b, heads, t, d):
    q, k, v, upstream = (tm.normal(b, heads, t, d, device=device) for _ in range(4))

    def attention(q, k, v):
        return file.flash_attention_v2_forward(q, k, v, True)

    def want(q, k, v):
        return tm.attention(q, k, v, causal=True)[0]

    return (
        lambda: tm.with_gradients(attention, upstream, q, k, v),
        lambda: tm.with_gradients(want, upstream, q, k, v, exact=True),
    )
