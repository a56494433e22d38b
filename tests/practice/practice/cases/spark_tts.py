"""SparkTTSOptimized: the first half of an MLP, a norm, and causal attention, in float32."""

from __future__ import annotations

import torch.nn.functional as F

from practice import torch_math as tm
from practice.case import Repository

repository = Repository(
    "Vishwa44/SparkTTSOptimized",
    "89bd60fd63270f94800bf5743839cc0dd288198a",
    stand_ins={"transformers": {}, "transformers.models.qwen2.modeling_qwen2": {}},
)


@repository.case("kernels/fused_mlp.py", "fused_gate_up_kernel", small=dict(b=2, n=40, h=90, d=100), production=dict(b=4, n=1024, h=896, d=4864), rtol=1e-2, atol=1e-2)  # fmt: skip
def gate_and_up(file, device, b, n, h, d):
    x = tm.normal(b, n, h, device=device)
    gate, up = (tm.normal(d, h, device=device, scale=h**-0.5) for _ in range(2))
    return (
        lambda: file.fused_silu_gate_up(x, gate, up),
        lambda: F.silu(x.double() @ gate.double().T) * (x.double() @ up.double().T),
    )


@repository.case("kernels/RMSNorm_triton.py", "_rmsnorm_forward_triton_kernel", small=dict(m=20, n=896), production=dict(m=32768, n=896), rtol=1e-5, atol=1e-5)  # fmt: skip
def rms_norm(file, device, m, n):
    x, weight = tm.normal(m, n, device=device), tm.normal(n, device=device)
    return lambda: file.rmsnorm(x, weight), lambda: tm.rms_norm(x, weight, 1e-6)


@repository.case("kernels/fused_attention.py", "_attn_fwd, _attn_fwd_inner", small=dict(b=1, heads=2, n=192, d=64), production=dict(b=2, heads=14, n=2048, d=64), rtol=1e-2, atol=5e-3)  # fmt: skip
def attention(file, device, b, heads, n, d):
    q, k, v = (tm.normal(b, heads, n, d, device=device) for _ in range(3))
    return (
        lambda: file.flash_attention(q, k, v),
        lambda: tm.attention(q, k, v, causal=True)[0],
    )
